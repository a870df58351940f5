"""Parses dates: those of the engine's parser and those of chat logs ("1:56 pm on 8 May, 2023")."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from assay.errors import QueryError
from assay.ingest.dates import parse_moment

DOCUMENT_DATES = ("created", "date", "date_time", "published_at", "creation-date")
"""Metadata fields with a document's creation date; case does not matter."""

_CHAT = re.compile(r"(?P<hour>\d{1,2}):(?P<minute>\d{2}) ?(?P<half>[ap])\.?m\.? on (?P<day>.+)", re.IGNORECASE)


def parse_timestamp(value: object) -> float | None:
    """Parse a date into seconds since 1970 UTC; None if it is no date. A time without a zone is UTC."""
    try:
        if isinstance(value, str) and (chat := _CHAT.fullmatch(value.strip())):
            hour, minute = int(chat["hour"]) % 12 + 12 * (chat["half"].lower() == "p"), int(chat["minute"])
            return parse_moment(chat["day"]) + 3600.0 * hour + 60.0 * minute
        return parse_moment(value)
    except QueryError:
        return None


def find_timestamp(fields: Mapping[str, Any], names: Iterable[str]) -> float | None:
    """The timestamp of the first of these fields that is a date."""
    values = {key.lower(): value for key, value in fields.items() if value is not None}
    return next(
        (found for name in names if name in values and (found := parse_timestamp(values[name])) is not None), None
    )
