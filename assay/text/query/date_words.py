"""Reads the dates of a query that name a period of the calendar: 2024-03-15, 15 March, Q3 2024, May, 2023.

A `NamedDate` may lack its year; `resolve` takes the most recent such period that does not begin after the clock.
`strong` says whether it is a date by itself; a weak one (june, May, a year such as 1984) needs a word such as `in`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

from assay.errors import Reason
from assay.text.query.periods import TimePeriod, make_day, make_months, make_week, read_day
from assay.text.query.words import QueryWord, make_table

_NAMES = "january february march april may june july august september october november december"
MONTH_NAMES = tuple(_NAMES.split())
_MONTHS = {name: number for number, name in enumerate(MONTH_NAMES, 1)}
_MONTHS |= {name[:3]: number for name, number in _MONTHS.items()} | {"sept": 9}
_FIRM_MONTHS = make_table("january february july september october november december")
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4}
_ISO = re.compile(r"(\d{4})([-/.])(\d{1,2})(?:\2(\d{1,2})(?:t[\d:.z]*)?)?")
_ISO_WEEK = re.compile(r"(\d{4})-?w(\d{1,2})")
_YEARS = re.compile(r"((?:19|20)\d\d)-((?:19|20)\d\d)")
_DAY_FIRST = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4})")
_DAY = re.compile(r"(\d{1,2})(st|nd|rd|th)?")
_YEAR = re.compile(r"(?:19|20)\d\d")
_PART = re.compile(r"([qh])([1-4])(?:[/-]?((?:19|20)\d\d))?")
_FIRST_YEAR, _LAST_YEAR = 1900, 2099
_FIRST_BARE_YEAR, _LAST_BARE_YEAR = 1990, 2049
"""A number that stands alone is a year only between these; after `in` or `since` the wider bounds hold."""
_YEAR_PART = re.compile(r"((?:19|20)\d\d)[-/]?([qh])([1-4])")

# A number before or after one of these counts or names something; it is no year.
_NOT_BEFORE_YEAR = make_table(
    """port room error code id ids ticket issue pr case page line step build order invoice number no nr ext extension
    building floor fy fiscal version versions v ver article iso rfc pep sku model windows office server studio vs
    exchange excel sharepoint part status http exit seat locker desk gate flight section article paragraph over
    under above below exactly roughly nearly almost another about least most than only max maximum min minimum limit"""
)
_UNITS = make_table(
    """eur euro euros usd dollar dollars gbp chf pounds rows users people employees customers seats tokens characters
    chars words lines items files records requests calls messages ms milliseconds s sec secs seconds minutes min
    mins hours days weeks months years mb gb kb tb kib mib gib bytes kg km miles percent points stars px pixels dpi
    rpm mah volts watts votes pages copies units tickets documents chunks errors times steps words sqm square meters
    metres participants attendees guests shares units credits calories iu entries nodes connections clients"""
)


@dataclass(frozen=True, slots=True)
class NamedDate:
    """A year, a part of one (`first_month`, `months`), a week or a day; its year may be open."""

    year: int | None = None
    first_month: int | None = None
    months: int = 1
    day: int | None = None
    week: int | None = None
    strong: bool = True
    problem: Reason | None = None

    def resolve(self, at: float | None) -> TimePeriod | Reason:
        """Return the period, or why there is none."""
        if self.problem is not None:
            return self.problem
        if self.year is not None:
            return self._of_year(self.year)
        if self.day is not None and self.first_month is not None and self.day > _longest_month(self.first_month):
            return _no_such_day(self)
        if at is None:
            return Reason("a date without a year needs a clock", "name the year, or pass the time of the query as `at`")
        latest = read_day(at).year
        for year in range(latest, max(latest - 9, 1), -1):  # 29 February: at most eight years back
            found = self._of_year(year)
            if isinstance(found, TimePeriod) and found.since <= at:
                return found
        return _no_such_day(self)

    def with_year(self, year: int | None) -> NamedDate:
        return replace(self, year=year)

    def _of_year(self, year: int) -> TimePeriod | Reason:
        try:
            if self.week is not None:
                return make_week(date.fromisocalendar(year, self.week, 1))
            if self.first_month is None:
                return make_months(year, 1, 12)
            if self.day is None:
                return make_months(year, self.first_month, self.months)
            return make_day(date(year, self.first_month, self.day))
        except ValueError:
            return _no_such_day(replace(self, year=year))


def read_named_date(words: Sequence[QueryWord], i: int) -> tuple[NamedDate, int] | None:
    """Return the date that begins at word `i`, and the index of the word after it."""
    if words[i].quoted:
        return None
    if found := _read_digits(words[i].lower):
        return found, i + 1
    return _read_part(words, i) or _read_month(words, i) or _read_day_first(words, i) or _read_year(words, i)


def read_day_number(words: Sequence[QueryWord], i: int) -> int | None:
    """Return the day of a month that word `i` names (3, 15th); None where there is none."""
    match = _DAY.fullmatch(words[i].lower) if i < len(words) and not words[i].quoted else None
    return int(match[1]) if match and 1 <= int(match[1]) <= 31 else None


def _read_digits(text: str) -> NamedDate | None:
    """Dates in one word of digits: 2024-03-15, 2024/03, 2024-W12, 15.03.2024."""
    if match := _ISO.fullmatch(text):
        year, month, day = int(match[1]), int(match[3]), match[4]
        if not _FIRST_YEAR <= year <= _LAST_YEAR:
            return None
        if day is not None:
            return NamedDate(year, month, day=int(day))
        return NamedDate(year, month) if match[2] != "." and len(match[3]) == 2 and 1 <= month <= 12 else None
    if match := _YEARS.fullmatch(text):
        first, last = int(match[1]), int(match[2])
        return NamedDate(first, 1, 12 * (last - first + 1)) if 0 < last - first < 50 else None
    if match := _ISO_WEEK.fullmatch(text):
        year, week = int(match[1]), int(match[2])
        return NamedDate(year, week=week) if _FIRST_YEAR <= year <= _LAST_YEAR else None
    if match := _DAY_FIRST.fullmatch(text):
        first, second, year = int(match[1]), int(match[3]), int(match[4])
        if not _FIRST_YEAR <= year <= _LAST_YEAR:
            return None
        if match[2] == "." or first > 12 or first == second:
            return NamedDate(year, second, day=first)
        if second > 12:
            return NamedDate(year, first, day=second)
        cure = f"write {year}-{second:02}-{first:02} or {year}-{first:02}-{second:02}"
        return NamedDate(problem=Reason(f"{text} is one day in Europe and another in America", cure))
    return None


def _read_part(words: Sequence[QueryWord], i: int) -> tuple[NamedDate, int] | None:
    """Quarters and halves: Q3 2024, 2024 Q3, Q3/2024, third quarter of 2024, H1 2024."""
    lower = words[i].lower
    if match := _PART.fullmatch(lower):
        kind, number, year = match[1], int(match[2]), match[3]
        after = i + 1
        if year is None:
            year, after = read_year_after(words, after)
        return _make_part(kind, number, year, after)
    if match := _YEAR_PART.fullmatch(lower):
        return _make_part(match[2], int(match[3]), match[1], i + 1)
    if _YEAR.fullmatch(lower) and i + 1 < len(words) and not words[i + 1].pause:
        match = _PART.fullmatch(words[i + 1].lower)
        return _make_part(match[1], int(match[2]), lower, i + 2) if match and match[3] is None else None
    if lower in _ORDINALS and i + 1 < len(words) and words[i + 1].lower == "quarter":
        year, after = read_year_after(words, i + 2)
        return _make_part("q", _ORDINALS[lower], year, after)
    return None


def _make_part(kind: str, number: int, year: str | None, after: int) -> tuple[NamedDate, int] | None:
    if kind == "h" and (number > 2 or year is None):
        return None  # H1 without a year is a heading
    months = 3 if kind == "q" else 6
    return NamedDate(int(year) if year else None, (number - 1) * months + 1, months), after


def read_year_after(words: Sequence[QueryWord], i: int) -> tuple[str | None, int]:
    """Return the year at word `i`, after an optional `of`, and the index behind it; None where there is none."""
    if i + 1 < len(words) and words[i].lower == "of":
        found = read_year_after(words, i + 1)
        return found if found[0] is not None else (None, i)
    if i < len(words) and not words[i].quoted and not words[i].opens and _YEAR.fullmatch(words[i].lower):
        return words[i].lower, i + 1
    return None, i


def _read_month(words: Sequence[QueryWord], i: int) -> tuple[NamedDate, int] | None:
    """March, March 2024, March 15, March 15th 2024."""
    lower, text = words[i].lower, words[i].text
    month = _MONTHS.get(lower)
    if month is None:
        return None
    year, after = read_year_after(words, i + 1)
    if year is not None:
        return NamedDate(int(year), month), after
    day = read_day_number(words, i + 1)
    if day is not None and not words[i + 1].opens and not _is_counted(words, i + 1):
        year, after = read_year_after(words, i + 2)
        strong = text[0].isupper() or year is not None or lower in _FIRM_MONTHS
        return NamedDate(int(year) if year else None, month, day=day, strong=strong), after
    return NamedDate(None, month, strong=lower in _FIRM_MONTHS and text[0].isupper()), i + 1


def _read_day_first(words: Sequence[QueryWord], i: int) -> tuple[NamedDate, int] | None:
    """15 March, 15th of March 2024."""
    day = read_day_number(words, i)
    at = i + 2 if i + 1 < len(words) and words[i + 1].lower == "of" else i + 1
    if day is None or at >= len(words) or words[at].quoted or words[at].pause or words[at].opens:
        return None
    month = _MONTHS.get(words[at].lower)
    if month is None or (words[at].lower in ("may", "march", "mar", "dec", "sep") and words[at].text[0].islower()):
        return None
    year, after = read_year_after(words, at + 1)
    return NamedDate(int(year) if year else None, month, day=day), after


def _read_year(words: Sequence[QueryWord], i: int) -> tuple[NamedDate, int] | None:
    lower = words[i].lower
    if not _YEAR.fullmatch(lower) or _is_counted(words, i):
        return None
    year = int(lower)
    return NamedDate(year, strong=_FIRST_BARE_YEAR <= year <= _LAST_BARE_YEAR and year % 100 != 0), i + 1


def _is_counted(words: Sequence[QueryWord], i: int) -> bool:
    """Does number `i` count or name something (2000 rows, port 2024, $2000), so that it is no date?"""
    if words[i].gap[-1:] in tuple("$€£#"):
        return True
    if i + 1 < len(words) and (words[i + 1].lower in _UNITS or words[i + 1].gap[:1] == "%"):
        return True
    if i > 1 and words[i - 1].lower == "year" and words[i - 2].lower in ("fiscal", "financial"):
        return True
    return i > 0 and not words[i].opens and words[i - 1].lower in _NOT_BEFORE_YEAR


def _longest_month(month: int) -> int:
    return 29 if month == 2 else 30 if month in (4, 6, 9, 11) else 31


def _no_such_day(named: NamedDate) -> Reason:
    if named.week is not None:
        return Reason(f"there is no week {named.week} in {named.year}", "check the week")
    month = named.first_month or 0
    spelt = MONTH_NAMES[month - 1].capitalize() if 1 <= month <= 12 else f"day {named.day} of month {month}"
    day = f"{named.day} {spelt}" if 1 <= month <= 12 else spelt
    return Reason(f"there is no {day}" + (f" {named.year}" if named.year else ""), "check the date")
