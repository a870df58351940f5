"""Calendar arithmetic in UTC: days, weeks, months, quarters and years as half-open ranges of epoch seconds."""

from __future__ import annotations

import math
from calendar import monthrange
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from assay.errors import QueryError

DAY = 86_400.0
SECONDS = {"second": 1.0, "minute": 60.0, "hour": 3_600.0, "day": DAY, "week": 7 * DAY}
_EPOCH = date(1970, 1, 1)
_EARLIEST, _LATEST = -62_135_596_800.0, 253_370_764_800.0  # the years 1 to 9998


class TimePeriod(NamedTuple):
    """A range [since, until) in epoch seconds, UTC."""

    since: float
    until: float


def check_clock(at: float | None) -> float | None:
    """Return the clock, or raise a QueryError where it is no moment of the calendar."""
    if at is not None and not (math.isfinite(at) and _EARLIEST <= at <= _LATEST):
        raise QueryError(f"the clock {at!r} is not a moment of the calendar", "pass `at` as epoch seconds in UTC")
    return at


def format_moment(moment: float) -> str:
    """Return a moment as an ISO date, with the time of day where it is not midnight."""
    if not _EARLIEST <= moment <= _LATEST:
        return str(moment)
    then = datetime.fromtimestamp(moment, UTC)
    return then.strftime("%Y-%m-%d" if moment % DAY == 0 else "%Y-%m-%dT%H:%M:%SZ")


def read_day(at: float) -> date:
    """Return the UTC day of a moment."""
    return datetime.fromtimestamp(math.floor(at), UTC).date()


def make_day(day: date) -> TimePeriod:
    """Return one day."""
    start = to_epoch(day)
    return TimePeriod(start, start + DAY)


def make_week(day: date) -> TimePeriod:
    """Return the week of a day; weeks begin on Monday."""
    start = to_epoch(day) - day.weekday() * DAY
    return TimePeriod(start, start + 7 * DAY)


def make_months(year: int, month: int, count: int = 1) -> TimePeriod:
    """Return `count` calendar months from a month on; a month beyond December counts into the next year."""
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    after = month - 1 + count
    return TimePeriod(to_epoch(date(year, month, 1)), to_epoch(date(year + after // 12, after % 12 + 1, 1)))


def make_unit(day: date, unit: str) -> TimePeriod:
    """Return the calendar day, week, month, quarter or year that holds a day."""
    if unit == "day":
        return make_day(day)
    if unit == "week":
        return make_week(day)
    if unit == "month":
        return make_months(day.year, day.month)
    if unit == "quarter":
        return make_months(day.year, (day.month - 1) // 3 * 3 + 1, 3)
    return make_months(day.year, 1, 12)


def shift_day(day: date, unit: str, count: int) -> date | None:
    """Return the day `count` units later; None beyond the calendar. The last day of a short month stands in."""
    try:
        if unit in ("day", "week"):
            return day + timedelta(days=count * (7 if unit == "week" else 1))
        months = day.month - 1 + count * {"month": 1, "quarter": 3, "year": 12}[unit]
        year, month = day.year + months // 12, months % 12 + 1
        moved = day.replace(year=year, month=month, day=min(day.day, monthrange(year, month)[1]))
    except (OverflowError, ValueError):
        return None
    return moved if 1 < moved.year < 9998 else None


def to_epoch(day: date) -> float:
    """Return the first second of a day."""
    return (day - _EPOCH).days * DAY
