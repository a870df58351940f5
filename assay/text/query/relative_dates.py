"""Reads the dates of a query that depend on the clock: yesterday, last week, past 3 days, last Tuesday."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from assay.errors import Reason
from assay.text.query.date_words import MONTH_NAMES
from assay.text.query.periods import (
    SECONDS,
    TimePeriod,
    make_day,
    make_months,
    make_unit,
    read_day,
    shift_day,
    to_epoch,
)
from assay.text.query.words import QueryWord, make_table

_DAYS = {"today": 0, "tonight": 0, "yesterday": -1, "tomorrow": 1}
_DAY_NAMES = "monday tuesday wednesday thursday friday saturday sunday"
_WEEKDAYS = {name: number for number, name in enumerate(_DAY_NAMES.split())}
_MONTHS = {name: number for number, name in enumerate(MONTH_NAMES, 1)}
_STEPS = {"last": -1, "previous": -1, "this": 0, "current": 0, "next": 1}
_UNITS = {"day": "day", "week": "week", "month": "month", "quarter": "quarter", "year": "year", "hour": "hour"}
_UNITS |= {"minute": "minute", "fortnight": "fortnight"}
_UNITS |= {f"{unit}s": unit for unit in tuple(_UNITS)}
_COUNTS = "one two three four five six seven eight nine ten eleven twelve"
_NUMBERS = {word: number for number, word in enumerate(_COUNTS.split(), 1)}
_LARGEST_COUNT = 3  # digits
_TIMES_OF_DAY = make_table("morning afternoon evening")


@dataclass(frozen=True, slots=True)
class RelativeDate:
    """A period by its distance from the clock.

    unit     day, week, month, quarter, year, hour, minute, weekday, week_day (of the present week) or month_name
    count    how many units later; negative: earlier. Of a weekday or month: -1 last, 0 most recent, 1 next
    rolling  counted back from the clock (past 3 days) instead of whole units of the calendar
    number   which weekday (Monday 0) or month (January 1)
    """

    unit: str
    count: int
    rolling: bool = False
    number: int = 0

    def resolve(self, at: float | None) -> TimePeriod | Reason:
        """Return the period, or why there is none."""
        if at is None:
            return Reason("a relative date needs a clock", "pass the time of the query as `at`, or write the date")
        return self._resolve(at) or Reason("a date beyond the calendar", "write a date between the years 2 and 9997")

    def _resolve(self, at: float) -> TimePeriod | None:
        today = read_day(at)
        if not 3 < today.year < 9996:
            return None
        if self.unit == "weekday":
            back = (today.weekday() - self.number) % 7
            days = -back if self.count == 0 else -(back or 7) if self.count < 0 else 7 - back
            return make_day(today + timedelta(days=days))
        if self.unit == "week_day":
            return make_day(today + timedelta(days=self.number - today.weekday()))
        if self.unit == "month_name":
            ended = self.number < today.month
            year = today.year + (
                0 if self.count == 0 else -(not ended) if self.count < 0 else self.number <= today.month
            )
            return make_months(year, self.number)
        if self.unit in ("hour", "minute"):
            size = SECONDS[self.unit]
            if self.rolling:
                return TimePeriod(at + self.count * size, at)
            start = at // size * size + self.count * size
            return TimePeriod(start, start + size)
        day = shift_day(today, self.unit, self.count)
        if day is None:
            return None
        if not self.rolling:
            return make_unit(day, self.unit)
        since = at + to_epoch(day) - to_epoch(today)
        return TimePeriod(since, at)


def read_relative_date(words: Sequence[QueryWord], i: int, weak: bool) -> tuple[RelativeDate, int] | None:
    """Return the relative date that begins at word `i`, and the index of the word after it.

    `weak` allows a weekday alone (on Monday); elsewhere it names a habit (the Monday meeting).
    """
    lower = words[i].lower
    following = _lower(words, i + 1)
    if lower in _DAYS:
        return RelativeDate("day", _DAYS[lower]), i + 1
    if lower == "day" and following == "before" and _lower(words, i + 2) == "yesterday":
        return RelativeDate("day", -2), i + 3
    if weak and lower in _WEEKDAYS:
        return RelativeDate("weekday", 0, number=_WEEKDAYS[lower]), i + 1
    if lower in _STEPS:
        return _read_step(_STEPS[lower], words, i)
    if lower == "past":
        return _read_rolling(words, i + 1)
    return _read_ago(words, i)


def _read_step(step: int, words: Sequence[QueryWord], i: int) -> tuple[RelativeDate, int] | None:
    """last week · this month · next Tuesday · last March · last 3 days"""
    following = _lower(words, i + 1)
    if following in _WEEKDAYS:
        return RelativeDate("weekday" if step else "week_day", step, number=_WEEKDAYS[following]), i + 2
    if following in _MONTHS:
        return RelativeDate("month_name", step, number=_MONTHS[following]), i + 2
    if following == "night" and step == -1:
        return RelativeDate("day", -1), i + 2
    if following in _TIMES_OF_DAY and step == 0:
        return RelativeDate("day", 0), i + 2
    if following in ("week", "month", "quarter", "year"):
        return RelativeDate(following, step), i + 2
    return _read_rolling(words, i + 1, counted=True) if words[i].lower == "last" else None


def _read_rolling(words: Sequence[QueryWord], i: int, counted: bool = False) -> tuple[RelativeDate, int] | None:
    """past 3 days · past week · last two months; `counted`: only with a number"""
    number, after = _read_count(words, i)
    if number is None:
        number, after = (None, i) if counted else (1, i)
    unit = _UNITS.get(_lower(words, after))
    if number is None or unit is None:
        return None
    if unit == "fortnight":
        number, unit = 2 * number, "week"
    return RelativeDate(unit, -number, rolling=True), after + 1


def _read_ago(words: Sequence[QueryWord], i: int) -> tuple[RelativeDate, int] | None:
    """two weeks ago · a year ago"""
    number, after = _read_count(words, i)
    if number is None and words[i].lower in ("a", "an"):
        number, after = 1, i + 1
    unit = _UNITS.get(_lower(words, after))
    if number is None or unit is None or _lower(words, after + 1) != "ago":
        return None
    if unit == "fortnight":
        number, unit = 2 * number, "week"
    return RelativeDate(unit, -number), after + 2


def _read_count(words: Sequence[QueryWord], i: int) -> tuple[int | None, int]:
    lower = _lower(words, i)
    if lower == "couple" or (lower == "a" and _lower(words, i + 1) == "couple"):
        i += 1 + (lower == "a")
        return 2, i + (_lower(words, i) == "of")
    if lower in _NUMBERS:
        return _NUMBERS[lower], i + 1
    if lower.isascii() and lower.isdigit() and len(lower) <= _LARGEST_COUNT and int(lower) > 0:
        return int(lower), i + 1
    return None, i


def _lower(words: Sequence[QueryWord], i: int) -> str:
    return words[i].lower if i < len(words) and not words[i].quoted else ""
