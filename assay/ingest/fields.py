"""What do the fields of front matter, a mail, a table row or a record say about a document?

`facts_from` is the one place where field names get their meaning:

    title                                   the title
    created, date, published, … (DATES)     the moment it was made: the first that can be read
    importance                              a number from 0 to 1
    tags                                    a list, or "a, b"
    lang, language                          a language code, cut to its first part: en-US → en
    every other field                       metadata: scalars and lists of scalars; {"a": {"b": 1}} becomes a.b
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, time
from numbers import Integral, Real
from typing import Any

from assay.errors import BadRecord, QueryError
from assay.ingest.dates import brief, parse_moment
from assay.ingest.files import tidy

DATES = (
    *("created", "created_at", "date", "published", "published_at", "publish_date", "pubdate", "timestamp"),
    *("updated", "updated_at", "last_modified", "lastmod", "modified"),
)
NOTES = "reader_notes"  # metadata field that says what a reader had to guess
TAKEN = frozenset({"id", "doc_id", "text", "tokens", "created", "section", "start", "record", NOTES})
"""Names with a meaning of their own; a user's field of that name is kept as `field_<name>`."""
MOST_FIELDS = 500
MOST_DEPTH = 4

Scalar = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything about a document except its text."""

    title: str = ""
    created: float = float("nan")
    importance: float = 1.0
    meta: Mapping[str, Any] = field(default_factory=dict)


def facts_from(fields: Mapping[Any, Any], *, strict_created: bool = False, notes: tuple[str, ...] = ()) -> Facts:
    """Read fields as the table above says; BadRecord names the field that cannot be read.

    A date that cannot be read stays in the metadata as it was written, with a note; with `strict_created` a bad
    `created` is an error, because whoever writes records can mend them.
    """
    named = {str(key).strip().lower(): value for key, value in fields.items()}
    created, source, date_notes = _created(named, strict_created)
    # A `created` that is no date is kept for the user to see; one that is has its place in the document.
    meta = _metadata(fields, _OWN | {source} if source == "created" else _OWN)
    if tags := _tags(named.get("tags")):
        meta["tags"] = tags
    if lang := _language(named.get("lang") or named.get("language")):
        meta["lang"] = lang
    if said := (*notes, *date_notes):
        meta[NOTES] = list(said)
    return Facts(_title(named.get("title")), created, _importance(named.get("importance")), meta)


_OWN = frozenset({"title", "importance", "tags", "lang"})  # have a place of their own, so they are not copied


def _title(value: Any) -> str:
    if value is None or isinstance(value, Mapping | list | tuple | set):
        return ""
    return " ".join(tidy(str(value)).split())


def _importance(value: Any) -> float:
    if _is_blank(value):
        return 1.0
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0.0 <= number <= 1.0:
        raise BadRecord(f"field 'importance' is {brief(value)}", "give a number from 0 to 1, or leave the field out")
    return number


def _created(named: Mapping[str, Any], strict: bool) -> tuple[float, str, list[str]]:
    """The moment, the field that gave it, and notes on fields that should have."""
    notes: list[str] = []
    for name in DATES:
        if name not in named or _is_blank(value := named[name]):
            continue
        try:
            return parse_moment(value), name, notes
        except QueryError as error:
            if strict and name == "created":
                raise BadRecord(f"field 'created' is {brief(value)}, which is not a date", error.cure) from error
            notes.append(f"field {name!r} is {brief(value)}, which is not a date")
    return math.nan, "", notes


def _is_blank(value: Any) -> bool:
    if isinstance(value, str):
        return not value.strip()
    return value is None or (isinstance(value, float) and math.isnan(value))


def _tags(value: Any) -> list[str]:
    """A list of scalars, or words set apart by commas; each tag once, in order."""
    listed = value.split(",") if isinstance(value, str) else value if isinstance(value, list | tuple) else []
    tags = (" ".join(tidy(str(tag)).split()) for tag in listed if isinstance(tag, Scalar))
    return list(dict.fromkeys(tag for tag in tags if tag))


def _language(value: Any) -> str:
    if not isinstance(value, str):
        return ""
    code = value.strip().lower().replace("_", "-").split("-")[0]
    return code if code.isascii() and code.isalpha() and 2 <= len(code) <= 3 else ""


def _metadata(fields: Mapping[Any, Any], own: frozenset[str]) -> dict[str, Any]:
    meta: dict[str, Any] = {}
    for name, value in _flat(fields, "", MOST_DEPTH):
        if name.lower() in own:
            continue
        kept = _storable(value)
        if kept is not None:
            meta[f"field_{name}" if name in TAKEN else name] = kept
            if len(meta) > MOST_FIELDS:
                raise BadRecord(f"more than {MOST_FIELDS} metadata fields", "keep the ones you search by")
    return meta


def _flat(fields: Mapping[Any, Any], prefix: str, depth: int) -> Iterator[tuple[str, Any]]:
    for key, value in fields.items():
        name = prefix + tidy(str(key)).strip()
        if isinstance(value, Mapping):
            if depth > 1:
                yield from _flat(value, f"{name}.", depth - 1)
        elif name:
            yield name, value


def _storable(value: Any) -> Scalar | list[Scalar] | None:
    """A value as JSON can hold it and filters can read it; None for what is neither scalar nor list of scalars."""
    if isinstance(value, list | tuple):
        kept = [item for item in map(_storable, value) if item is not None and not isinstance(item, list)]
        return kept if len(kept) == len(value) else None
    if isinstance(value, str):
        return tidy(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, Integral):  # numpy's numbers too
        number = int(value)
        return number if abs(number) < 1 << 63 else brief(number)  # columns hold 64 bits
    if isinstance(value, Real):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, date | time):
        return value.isoformat()
    return None
