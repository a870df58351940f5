"""Parses dates: one parser for front matter, records, mail headers and the command line.

A moment is a float: seconds since 1970-01-01 UTC. A date without a zone is UTC, a date without a time is
midnight. Accepted forms:

    2025-06-01 · 2025-06 · 2025/06/01 · 20250601                      ISO dates
    2025-06-01T12:00:00Z · 2025-06-01 12:00 +02:00                    ISO date-times
    Sun, 1 Jun 2025 12:00:00 +0200                                    mail headers (RFC 2822)
    1 June 2025 · 1-Jun-2025 · June 1, 2025                           English dates with the month's name
    1748736000 · 1748736000.5 · 1748736000000                         epoch seconds; from 1e11 on, milliseconds
"""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, time
from email.utils import parsedate_to_datetime
from numbers import Real

from assay.errors import QueryError

FORMS = "2025-06-01, 2025-06-01T12:00:00Z, 'Sun, 1 Jun 2025 12:00:00 +0200', or epoch seconds"
MILLISECONDS_FROM = 1e11  # as seconds this would be the year 5138

_NUMBER = re.compile(r"[+-]?(?:\d{9,}(?:\.\d*)?|\d+\.\d*)")  # eight digits are a compact date
_MONTH = re.compile(r"(\d{4})-(\d{1,2})")
_DAY = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?=$|[T\s])")
_DAY_MONTH = re.compile(r"(?P<day>\d{1,2})[ -](?P<month>[A-Za-z]{3,9})\.?,?[ -](?P<year>\d{4})")
_MONTH_DAY = re.compile(r"(?P<month>[A-Za-z]{3,9})\.? (?P<day>\d{1,2}),? (?P<year>\d{4})")
_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_WEEKDAY = re.compile(r"\s*\((?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\)\s*", re.IGNORECASE)
_SPACED_ZONE = re.compile(r"\s+(?=[+-]\d|Z$|UTC$)")


def parse_moment(value: object) -> float:
    """Return the moment of a text, number, date or datetime, in seconds since 1970 UTC; QueryError lists the forms."""
    try:
        if isinstance(value, bool):
            raise ValueError("a truth value")
        if isinstance(value, Real):  # numpy's numbers too
            return _from_number(float(value))
        if isinstance(value, datetime):
            return _from_datetime(value)
        if isinstance(value, date):
            return _from_datetime(datetime.combine(value, time()))
        if isinstance(value, str):
            return _from_text(value.strip())
        raise ValueError("neither text nor number nor date")
    except (ValueError, OverflowError, TypeError, IndexError) as error:
        raise QueryError(f"{abbreviate(value)} is not a date", f"write it as {FORMS}") from error


def _from_number(number: float) -> float:
    seconds = number / 1000.0 if abs(number) >= MILLISECONDS_FROM else number
    if not math.isfinite(seconds) or abs(seconds) >= MILLISECONDS_FROM:
        raise ValueError("out of range")
    return seconds


def _from_datetime(moment: datetime) -> float:
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _from_text(text: str) -> float:
    if len(text) > 100:
        raise ValueError("too long for a date")
    if _NUMBER.fullmatch(text):
        return _from_number(float(text))
    if month := _MONTH.fullmatch(text):
        return _from_datetime(datetime(int(month[1]), int(month[2]), 1, tzinfo=UTC))
    if parts := _DAY_MONTH.fullmatch(text) or _MONTH_DAY.fullmatch(text):
        month_number = [name.startswith(parts["month"].lower()) for name in _MONTHS].index(True) + 1
        return _from_datetime(datetime(int(parts["year"]), month_number, int(parts["day"]), tzinfo=UTC))
    # ISO wants two digits and dashes; people write 2025/6/1, 2025/06/01 (Sun) 12:00, … 12:00 +02:00 and … 12:00 UTC.
    iso = _DAY.sub(lambda day: f"{day[1]}-{int(day[2]):02}-{int(day[3]):02}", text, count=1)
    iso = _SPACED_ZONE.sub("", _WEEKDAY.sub(" ", iso)).removesuffix("UTC")
    try:
        return _from_datetime(datetime.fromisoformat(iso))
    except ValueError:
        return _from_datetime(parsedate_to_datetime(text))


def abbreviate(value: object) -> str:
    """Return a value as an error message shows it."""
    try:
        text = repr(value)
    except ValueError:  # an int of more digits than Python prints
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}…"
