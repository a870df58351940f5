"""Resolves `since` and `until`: ISO dates, moments, and words such as "last week" or "in September".

Words are resolved against a clock. A period begins at its first second and ends after its last: `since` and `until`
"2026-03-01" are that whole day. A moment with a time of day is exact, and `until` excludes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from assay.errors import QueryError
from assay.ingest.dates import abbreviate, parse_moment
from assay.text.query.dates import DateConstraint, find_dates
from assay.text.query.periods import format_moment
from assay.where import Compare, Filter

Bound = str | float | None


@dataclass(frozen=True, slots=True)
class DateRange:
    """A range of moments [since, until); None is open. `words` are what it was read from, for ranges in a query."""

    since: float | None
    until: float | None
    words: str = ""

    def conditions(self, field: str = "created") -> tuple[Filter, ...]:
        """The filters that keep what lies in the range."""
        since = () if self.since is None else (Compare(field, ">=", self.since, is_date=True),)
        until = () if self.until is None else (Compare(field, "<", self.until, is_date=True),)
        return (*since, *until)

    def holds(self, moment: float) -> bool:
        return (self.since is None or moment >= self.since) and (self.until is None or moment < self.until)

    def __str__(self) -> str:
        since = "" if self.since is None else f"from {format_moment(self.since)}"
        until = "" if self.until is None else f"before {format_moment(self.until)}"
        return " ".join(part for part in (since, until) if part)

    def to_json(self) -> dict[str, Any]:
        return {
            "since": None if self.since is None else format_moment(self.since),
            "until": None if self.until is None else format_moment(self.until),
            "words": self.words or None,
        }


def resolve_range(since: Bound, until: Bound, now: float) -> DateRange | None:
    """Resolve both bounds; None without any. QueryError when one is no date, or the range ends before it begins."""
    begin = None if since is None else _resolve(since, now, "since")
    end = None if until is None else _resolve(until, now, "until")
    if begin is None and end is None:
        return None
    if begin is not None and end is not None and begin >= end:
        raise QueryError(
            f"the dates contradict each other: since {abbreviate(since)} begins at {format_moment(begin)}, "
            f"until {abbreviate(until)} ends at {format_moment(end)}",
            "put the earlier date into since, or leave one of the two out",
        )
    return DateRange(begin, end)


def _resolve(value: str | float, now: float, side: Literal["since", "until"]) -> float:
    if not isinstance(value, str):
        return parse_moment(value)
    text = value.strip()
    if text.lower() == "now":
        return now
    constraint = _read_words(text, now)
    if constraint is None:
        try:
            return parse_moment(text)
        except QueryError as error:
            cure = "write 2026-03-01, 2026-03-01T09:30:00Z, 'last week', 'in September' or 'two days ago'"
            raise QueryError(f"{side} is {abbreviate(value)}, which is not a date", cure) from error
    if constraint.problem is not None:
        raise QueryError(f"{side} is {abbreviate(value)}: {constraint.problem.text}", constraint.problem.cure)
    bound = constraint.since if side == "since" else constraint.until
    if bound is None:  # since "before May", until "after May"
        raise QueryError(f"{side} is {abbreviate(value)}, which has no such end", f"name a date or a period for {side}")
    return bound


def _read_words(text: str, now: float) -> DateConstraint | None:
    """The one date that a text consists of, after "in" or "on"; None when it is no such text."""
    found = find_dates(text, now)
    if len(found) != 1 or text[found[0].end :].strip():
        return None
    before = text[: found[0].start].strip().lower()
    return found[0] if before in ("", "in", "on", "the", "during") else None


def read_query_range(text: str, now: float) -> tuple[DateRange | None, float | None]:
    """The range that the words of a query name, and the moment of "as of March 2024". Contradictory dates in a query
    are a QueryError; dates without a meaning (31 February) name nothing."""
    since = until = as_of = None
    words: list[str] = []
    for date in find_dates(text, now):
        if date.problem is not None:
            continue
        if date.relation == "as_of":
            as_of = date.until
        elif not words:  # a query with several ranges has no single one
            since, until = date.since, date.until
            words.append(text[date.start : date.end])
        else:
            words.append("")
    return (DateRange(since, until, words[0]) if len(words) == 1 else None), as_of
