"""Finds the date constraints of a query as half-open ranges [since, until) in epoch seconds, UTC.

    in        in March 2024 · on 15 March · Q3 2024 · 2023 · last week · yesterday · two weeks ago · past 3 days
    since     since May (from its first second on) · after: from the end of the period on
    before    before 3 June 2025 (up to its first second) · until: up to the end of the period
    between   between March and May 2024 · from 3 to 5 May · since 2022 until 2024
    as_of     as of March 2024: everything up to the end of the period

A period without a year is the most recent one that does not begin after the clock. Weeks begin on Monday. `last week`
is the calendar week before the present one; `past 3 days` and `last 3 days` count back from the clock; `two weeks
ago` is the calendar week that lies two weeks back. Without a clock such dates are found but carry a `problem`, as
impossible (31 February) and ambiguous ones (04/05/2024) do. A range that ends before it begins is a QueryError.

Linear time, any string.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from assay.errors import QueryError, Reason
from assay.text.query.date_words import MONTH_NAMES, NamedDate, read_day_number, read_named_date, read_year_after
from assay.text.query.periods import TimePeriod, check_clock, format_moment
from assay.text.query.relative_dates import RelativeDate, read_relative_date
from assay.text.query.words import QueryWord, make_table, split_words

DateRelation = Literal["in", "since", "after", "before", "until", "between", "as_of"]


@dataclass(frozen=True, slots=True)
class DateConstraint:
    """A date in a query: its characters [start, end), how it binds, and its range.

    `since` or `until` is None where the range is open, and both are None where `problem` says why it is unresolved.
    """

    start: int
    end: int
    relation: DateRelation
    since: float | None = None
    until: float | None = None
    problem: Reason | None = None


class _Point(NamedTuple):
    """One date of a constraint, and the index of the word after it."""

    value: NamedDate | RelativeDate
    after: int


# Words before a date, longest first: how many words, and the relation. Plain ones are no part of the span.
_RELATIONS: dict[tuple[str, ...], DateRelation] = {
    ("no", "later", "than"): "until",
    ("later", "than"): "after",
    ("newer", "than"): "after",
    ("earlier", "than"): "before",
    ("older", "than"): "before",
    ("prior", "to"): "before",
    ("up", "to"): "until",
    ("as", "of"): "as_of",
    ("as", "at"): "as_of",
    ("starting", "from"): "since",
    ("starting", "in"): "since",
    ("beginning", "in"): "since",
    ("since",): "since",
    ("starting",): "since",
    ("after",): "after",
    ("before",): "before",
    ("until",): "until",
    ("till",): "until",
    ("through",): "until",
    ("by",): "until",
}
_PLAIN = make_table("in on during from within throughout around")
_FILLERS = make_table("the early late mid end start beginning of")
_TO = make_table("to until till through thru")
_DASHES = ("-", "–", "—", "..", "→")
_OPEN_ENDED = (("onwards",), ("onward",), ("and", "later"), ("or", "later"), ("and", "after"))
_OPEN_STARTED = (("and", "earlier"), ("or", "earlier"), ("and", "before"))
_PEOPLE = make_table("april may june august")  # months that are names of people: written by June


def find_dates(text: str, at: float | None) -> tuple[DateConstraint, ...]:
    """Return the date constraints of a query in order. Raises a QueryError when a range ends before it begins."""
    return find_date_words(split_words(text), at)


def find_date_words(words: Sequence[QueryWord], at: float | None) -> tuple[DateConstraint, ...]:
    """Return the date constraints of a query that is already split into words."""
    at = check_clock(at)
    found: list[tuple[DateConstraint, int, int]] = []  # with its words [first, after)
    i = 0
    while i < len(words):
        constraint = None if words[i].quoted else _read_constraint(words, i, at)
        if constraint is None:
            i += 1
            continue
        read, first, after = constraint
        if found and (joined := _join(found[-1], read, words[found[-1][2] : first])):
            found[-1] = (joined, found[-1][1], after)
        else:
            found.append((read, first, after))
        i = after
    for one, *_ in found:
        _check_order(one, words)
    return tuple(one for one, *_ in found)


def _read_constraint(words: Sequence[QueryWord], i: int, at: float | None) -> tuple[DateConstraint, int, int] | None:
    """Return the constraint that begins at word `i`, with its words [first, after)."""
    lower = words[i].lower
    if lower in ("between", "from") and (pair := _read_pair(words, i + 1, ("and",) if lower == "between" else ())):
        return _make_pair(words, i, pair, at)
    relation, size = _read_relation(words, i)
    if relation is not None:
        point = _read_point(words, _skip_fillers(words, i + size), weak=True)
        if point is None or (lower == "by" and _is_person(words, i + 1, point)):
            return None
        return _make(words, i, point.after, relation, point.value.resolve(at)), i, point.after
    if lower in _PLAIN or lower == "the":
        first = _skip_fillers(words, i + (lower in _PLAIN))
        point = _read_point(words, first, weak=lower in _PLAIN or _is_capital_month(words, first))
        if point is None:
            return None
    else:
        first = i
        if _is_capital_month(words, i) and (pair := _read_pair(words, i, ())):  # March to May 2024
            return _make_pair(words, i, pair, at)
        if day := read_day_number(words, i):
            if pair := _read_pair(words, i, ()):
                return _make_pair(words, i, pair, at)
            if (listed := _read_listed_day(words, i, day)) is not None:
                return _make(words, i, i + 1, "in", listed.resolve(at)), i, i + 1
        point = _read_point(words, first, weak=False)
        if point is None:
            return None
    if pair := _read_pair(words, first, ()):
        return _make_pair(words, first, pair, at)
    open_end = _matches(words, point.after, _OPEN_ENDED)
    if open_end or (lower == "from" and _matches(words, point.after, (("on",), ("forward",)))):
        after = point.after + (open_end or 1)
        return _make(words, i, after, "since", point.value.resolve(at)), i, after
    if open_start := _matches(words, point.after, _OPEN_STARTED):
        after = point.after + open_start
        return _make(words, first, after, "until", point.value.resolve(at)), first, after
    return _make(words, first, point.after, "in", point.value.resolve(at)), first, point.after


def _read_relation(words: Sequence[QueryWord], i: int) -> tuple[DateRelation | None, int]:
    for size in (3, 2, 1):
        relation = _RELATIONS.get(tuple(word.lower for word in words[i : i + size]))
        if relation is not None:
            return relation, size
    return None, 0


def _read_point(words: Sequence[QueryWord], i: int, *, weak: bool) -> _Point | None:
    if i >= len(words) or words[i].quoted:
        return None
    if relative := read_relative_date(words, i, weak):
        return _Point(*relative)
    named = read_named_date(words, i)
    return _Point(*named) if named and (weak or named[0].strong) else None


def _read_pair(words: Sequence[QueryWord], i: int, joins: tuple[str, ...]) -> tuple[_Point, _Point, int] | None:
    """Return two dates joined by `to`, a dash or one of `joins`, and the index of the first word."""
    i = _skip_fillers(words, i)
    first = _read_point(words, i, weak=True)
    day = read_day_number(words, i)
    if first is None and day is not None and i + 2 < len(words) and _is_join(words, i + 1, joins):
        skip = 0 if _has_dash(words[i + 1]) else 1
        last = _read_point(words, i + 1 + skip, weak=True)  # between 3 and 5 May 2024
        if last and isinstance(last.value, NamedDate) and last.value.day is not None and last.value.problem is None:
            return _Point(replace(last.value, day=day), i + 1), last, i
        return None
    if first is None or first.after >= len(words) or not _is_join(words, first.after, joins):
        return None
    second = _skip_fillers(words, first.after + (0 if _has_dash(words[first.after]) else 1))
    last = _read_point(words, second, weak=True)
    if last is None and isinstance(first.value, NamedDate) and first.value.day is not None:
        day = read_day_number(words, second)  # May 3 to 5, 2024
        if day is not None:
            year, after = read_year_after(words, second + 1)
            value = replace(first.value, day=day, year=int(year) if year else first.value.year)
            last = _Point(value, after)
    return (first, last, i) if last else None


def _read_listed_day(words: Sequence[QueryWord], i: int, day: int) -> NamedDate | None:
    """The first day of `5 and 6 July`."""
    if i + 2 >= len(words) or words[i + 1].lower not in ("and", "or") or read_day_number(words, i + 2) is None:
        return None
    last = read_named_date(words, i + 2)
    return replace(last[0], day=day) if last and last[0].day is not None and last[0].problem is None else None


def _is_join(words: Sequence[QueryWord], i: int, joins: tuple[str, ...]) -> bool:
    return words[i].lower in _TO or words[i].lower in joins or _has_dash(words[i])


def _has_dash(word: QueryWord) -> bool:
    return word.gap.strip() in _DASHES


def _make_pair(
    words: Sequence[QueryWord], i: int, pair: tuple[_Point, _Point, int], at: float | None
) -> tuple[DateConstraint, int, int]:
    first, last, _ = pair
    begin, end = _share_year(first.value, last.value, at)
    since, until = begin.resolve(at), end.resolve(at)
    read = _make(words, i, last.after, "between", since)
    if isinstance(since, Reason) or isinstance(until, Reason):
        problem = since if isinstance(since, Reason) else until if isinstance(until, Reason) else None
        return replace(read, since=None, until=None, problem=problem), i, last.after
    return replace(read, since=since.since, until=until.until), i, last.after


def _share_year(
    first: NamedDate | RelativeDate, last: NamedDate | RelativeDate, at: float | None
) -> tuple[NamedDate | RelativeDate, NamedDate | RelativeDate]:
    """Give the date without a year the year of the other, so that the first one does not begin later."""
    if not isinstance(first, NamedDate) or not isinstance(last, NamedDate) or first.problem or last.problem:
        return first, last
    if first.year is not None and last.year is not None:
        return first, last
    if first.year is not None:
        later = last.with_year(first.year)
        return first, later if _begins(first) <= _begins(later) else last.with_year(first.year + 1)
    if last.year is None:
        resolved = last.resolve(at)
        if isinstance(resolved, Reason):
            return first, last
        last = last.with_year(int(format_moment(resolved.since)[:4]))
    year = last.year or 0
    earlier = first.with_year(year)
    return (earlier if _begins(earlier) <= _begins(last) else first.with_year(year - 1)), last


def _begins(named: NamedDate) -> tuple[int, int, int]:
    return named.year or 0, named.first_month or 1, named.day or 1


def _make(
    words: Sequence[QueryWord], first: int, after: int, relation: DateRelation, period: TimePeriod | Reason
) -> DateConstraint:
    start, end = words[first].start, words[after - 1].end
    if isinstance(period, Reason):
        return DateConstraint(start, end, relation, problem=period)
    since = {"since": period.since, "after": period.until, "in": period.since, "between": period.since}.get(relation)
    until = {"before": period.since, "until": period.until, "as_of": period.until, "in": period.until}.get(relation)
    return DateConstraint(start, end, relation, since, until)


_BETWEEN = frozenset({"and", "but"})
_BEGINS = ("since", "after")
_ENDS = ("before", "until")


def _join(
    last: tuple[DateConstraint, int, int], read: DateConstraint, gap: Sequence[QueryWord]
) -> DateConstraint | None:
    """Make one range of `since X` and `until Y` that stand together; None where they do not."""
    one = last[0]
    if one.problem or read.problem or any(word.lower not in _BETWEEN for word in gap):
        return None
    if one.relation in _BEGINS and read.relation in _ENDS:
        return DateConstraint(one.start, read.end, "between", one.since, read.until)
    if one.relation in _ENDS and read.relation in _BEGINS and read.since is not None and one.until is not None:
        return DateConstraint(one.start, read.end, "between", read.since, one.until)
    return None


def _check_order(constraint: DateConstraint, words: Sequence[QueryWord]) -> None:
    since, until = constraint.since, constraint.until
    if since is None or until is None or since < until:
        return
    spelt = " ".join(word.text for word in words if constraint.start <= word.start < constraint.end)
    raise QueryError(
        f"the dates contradict each other: {spelt!r} begins at {format_moment(since)} and ends at "
        f"{format_moment(until)}",
        "put the earlier date first, or drop one of the two",
    )


def _skip_fillers(words: Sequence[QueryWord], i: int) -> int:
    """The index after `the`, `early`, `the end of`; at most four words."""
    for _ in range(4):
        if i < len(words) and words[i].lower in _FILLERS and not words[i].quoted:
            i += 1
    return i


def _is_person(words: Sequence[QueryWord], i: int, point: _Point) -> bool:
    return point.after == i + 1 and words[i].lower in _PEOPLE


def _is_capital_month(words: Sequence[QueryWord], i: int) -> bool:
    """A month after `the`: the March invoice."""
    return i < len(words) and words[i].lower in MONTH_NAMES and words[i].text[0].isupper()


def _matches(words: Sequence[QueryWord], i: int, phrases: tuple[tuple[str, ...], ...]) -> int:
    """How many words the first phrase takes that stands at word `i`; 0 when none does."""
    for phrase in phrases:
        if tuple(word.lower for word in words[i : i + len(phrase)]) == phrase:
            return len(phrase)
    return 0
