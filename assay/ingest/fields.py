"""Parses the fields of front matter, a mail, a table row or a record.

`parse_fields` is the only place that gives field names a meaning:

    title                                   the title
    created, date, published, … (DATES)     the moment of creation: the first that can be read
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
from assay.ingest.dates import abbreviate, parse_moment
from assay.ingest.files import clean_text

DATES = (
    *("created", "created_at", "date", "published", "published_at", "publish_date", "pubdate", "timestamp"),
    *("updated", "updated_at", "last_modified", "lastmod", "modified"),
)
NOTES = "reader_notes"  # metadata field for what a reader had to guess
RESERVED = frozenset({"id", "doc_id", "text", "tokens", "created", "section", "start", "record", NOTES})
"""Names with a fixed meaning; a user's field of that name is stored as `field_<name>`."""
MOST_FIELDS = 500
MOST_DEPTH = 4

Scalar = str | int | float | bool


@dataclass(frozen=True, slots=True)
class DocumentFields:
    """Everything about a document except its text."""

    title: str = ""
    created: float = float("nan")
    importance: float = 1.0
    meta: Mapping[str, Any] = field(default_factory=dict)


def parse_fields(
    fields: Mapping[Any, Any], *, strict_created: bool = False, lenient: bool = False, notes: tuple[str, ...] = ()
) -> DocumentFields:
    """Read fields as the table above says; BadRecord names the field that cannot be read.

    A date that cannot be read stays in the metadata as text, with a note; with `strict_created` a bad `created` is an
    error, because the author of a record can correct it. With `lenient` a field that cannot be read is left out, with a
    note: a page is worth more than its fields.
    """
    values = {str(key).strip().lower(): value for key, value in fields.items()}
    created, date_field, date_notes = _parse_created(values, strict_created)
    # A `created` that is no date stays in the metadata; a date is stored in the document.
    own = _OWN | {date_field} if date_field == "created" else _OWN
    refused: list[str] = []
    try:
        importance = _parse_importance(values.get("importance"))
    except BadRecord as error:
        if not lenient:
            raise
        importance = 1.0
        refused.append(f"front matter: {error.message}; {error.cure}")
    meta = _collect_metadata(fields, own)
    if len(meta) > MOST_FIELDS:
        if not lenient:
            raise BadRecord(f"more than {MOST_FIELDS} metadata fields", "keep the ones you search by")
        meta = dict(list(meta.items())[:MOST_FIELDS])
        refused.append(f"front matter: only the first {MOST_FIELDS} fields were read")
    if tags := _parse_tags(values.get("tags")):
        meta["tags"] = tags
    if lang := _parse_language(values.get("lang") or values.get("language")):
        meta["lang"] = lang
    if all_notes := (*notes, *date_notes, *refused):
        meta[NOTES] = list(all_notes)
    return DocumentFields(_parse_title(values.get("title")), created, importance, meta)


_OWN = frozenset({"title", "importance", "tags", "lang"})  # stored elsewhere, so they are not copied


def _parse_title(value: Any) -> str:
    if value is None or isinstance(value, Mapping | list | tuple | set):
        return ""
    return " ".join(clean_text(str(value)).split())


def _parse_importance(value: Any) -> float:
    if _is_blank(value):
        return 1.0
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0.0 <= number <= 1.0:
        raise BadRecord(
            f"field 'importance' is {abbreviate(value)}", "give a number from 0 to 1, or leave the field out"
        )
    return number


def _parse_created(values: Mapping[str, Any], strict: bool) -> tuple[float, str, list[str]]:
    """Return the moment, the field it came from, and notes on fields that cannot be read."""
    notes: list[str] = []
    for name in DATES:
        if name not in values or _is_blank(value := values[name]):
            continue
        try:
            return parse_moment(value), name, notes
        except QueryError as error:
            if strict and name == "created":
                raise BadRecord(f"field 'created' is {abbreviate(value)}, which is not a date", error.cure) from error
            notes.append(f"field {name!r} is {abbreviate(value)}, which is not a date")
    return math.nan, "", notes


def _is_blank(value: Any) -> bool:
    if isinstance(value, str):
        return not value.strip()
    return value is None or (isinstance(value, float) and math.isnan(value))


def _parse_tags(value: Any) -> list[str]:
    """Return a list of scalars, or words separated by commas; each tag once, in order."""
    members = value.split(",") if isinstance(value, str) else value if isinstance(value, list | tuple) else []
    tags = (" ".join(clean_text(str(tag)).split()) for tag in members if isinstance(tag, Scalar))
    return list(dict.fromkeys(tag for tag in tags if tag))


def _parse_language(value: Any) -> str:
    if not isinstance(value, str):
        return ""
    code = value.strip().lower().replace("_", "-").split("-")[0]
    return code if code.isascii() and code.isalpha() and 2 <= len(code) <= 3 else ""


def _collect_metadata(fields: Mapping[Any, Any], own: frozenset[str]) -> dict[str, Any]:
    meta: dict[str, Any] = {}
    for name, value in _flatten(fields, "", MOST_DEPTH):
        if name.lower() in own:
            continue
        storable = _to_storable(value)
        if storable is not None:
            meta[f"field_{name}" if name in RESERVED else name] = storable
            if len(meta) > MOST_FIELDS:
                break
    return meta


def _flatten(fields: Mapping[Any, Any], prefix: str, depth: int) -> Iterator[tuple[str, Any]]:
    for key, value in fields.items():
        name = prefix + clean_text(str(key)).strip()
        if isinstance(value, Mapping):
            if depth > 1:
                yield from _flatten(value, f"{name}.", depth - 1)
        elif name:
            yield name, value


def _to_storable(value: Any) -> Scalar | list[Scalar] | None:
    """Return a value that JSON holds and filters read; None for what is neither scalar nor list of scalars."""
    if isinstance(value, list | tuple):
        items = [item for item in map(_to_storable, value) if item is not None and not isinstance(item, list)]
        return items if len(items) == len(value) else None
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, Integral):  # numpy's numbers too
        number = int(value)
        return number if abs(number) < 1 << 63 else abbreviate(number)  # columns hold 64 bits
    if isinstance(value, Real):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, date | time):
        return value.isoformat()
    return None
