"""When was it said? The dates of the engine's own parser, and those of chat logs: "1:56 pm on 8 May, 2023"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from assay.errors import QueryError
from assay.ingest.dates import parse_moment

DOCUMENT_DATES = ("created", "date", "date_time", "published_at", "creation-date")
"""Metadata fields that say when a document was made; letters' case does not matter."""

_CHAT = re.compile(r"(?P<hour>\d{1,2}):(?P<minute>\d{2}) ?(?P<half>[ap])\.?m\.? on (?P<day>.+)", re.IGNORECASE)


def moment(value: object) -> float | None:
    """Seconds since 1970 UTC; None for what is no date. A time without a zone is UTC."""
    try:
        if isinstance(value, str) and (chat := _CHAT.fullmatch(value.strip())):
            hour, minute = int(chat["hour"]) % 12 + 12 * (chat["half"].lower() == "p"), int(chat["minute"])
            return parse_moment(chat["day"]) + 3600.0 * hour + 60.0 * minute
        return parse_moment(value)
    except QueryError:
        return None


def first_moment(fields: Mapping[str, Any], names: Iterable[str]) -> float | None:
    """The first of these fields that is a date."""
    named = {key.lower(): value for key, value in fields.items() if value is not None}
    return next((found for name in names if name in named and (found := moment(named[name])) is not None), None)
