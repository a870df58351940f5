"""Turns a mapping into a document: one rule for JSON lines, table rows and `kb.add([{…}, …])`.

    id, _id                    record_id; without one the caller's fallback, else a digest of title and text
    text, content, body        the text; required, but may be empty when there is a title
    section                    the heading path, "A > B" or ["A", "B"]
    metadata, meta             a mapping whose fields count as the record's own
    other fields               as in `fields.parse_fields`

The first name that has a value counts; the others of its line are metadata.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from numbers import Integral
from typing import Any

from assay.errors import BadRecord
from assay.ingest.dates import abbreviate
from assay.ingest.fields import parse_fields
from assay.ingest.files import clean_text
from assay.types import Document, Section

IDS = ("id", "_id")
TEXTS = ("text", "content", "body")
METAS = ("metadata", "meta")
LONGEST_ID = 1000  # characters


def parse_record(
    record: Mapping[str, Any], *, prefix: str = "", fallback_id: str = "", notes: tuple[str, ...] = ()
) -> Document:
    """Return the document of a record; its id is prefix + id. BadRecord names the field that is wrong.

    A record with a title and no text has its title as text. `notes` go into its metadata.
    """
    if not isinstance(record, Mapping):
        raise BadRecord(f"a record is a mapping of fields, not {abbreviate(record)}", 'write {"text": "…"}')
    rest = {key: value for key, value in record.items() if value is not None}
    record_id = _parse_id(_take(rest, IDS))
    text = _parse_text(_take(rest, TEXTS), titled=bool(rest.get("title")))
    path = _parse_path(rest.pop("section", None))
    # A `created` of the record itself must be a date; one in nested metadata that is no date gets a note.
    fields = parse_fields(
        {**_parse_metadata(_take(rest, METAS)), **rest}, strict_created="created" in rest, notes=notes
    )
    body = text if text.strip() else fields.title
    return Document(
        id=prefix + (record_id or fallback_id or _digest(fields.title, text)),
        title=fields.title,
        sections=(Section(path, body),) if body else (),
        created=fields.created,
        importance=fields.importance,
        meta={**fields.meta, "record": record_id} if record_id else fields.meta,
    )


def _take(rest: dict[str, Any], names: tuple[str, ...]) -> Any:
    """Remove and return the first of these fields that has a value."""
    return next((rest.pop(name) for name in names if name in rest), None)


def _digest(title: str, text: str) -> str:
    return blake2b(f"{title}\0{text}".encode(), digest_size=10).hexdigest()


def _parse_id(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | Integral):
        raise BadRecord(f"field 'id' is {abbreviate(value)}", "give a text or a whole number")
    record_id = clean_text(str(value)).strip()
    if len(record_id) > LONGEST_ID:
        raise BadRecord(f"field 'id' has {len(record_id)} characters", f"use at most {LONGEST_ID}")
    return record_id


def _parse_text(value: Any, *, titled: bool) -> str:
    if value is None and titled:
        return ""
    if value is None:
        raise BadRecord("field 'text' is missing", "name the text 'text', 'content' or 'body'")
    if not isinstance(value, str):
        raise BadRecord(f"field 'text' is {abbreviate(value)}, which is not a text", "give a string")
    return clean_text(value)


def _parse_metadata(value: Any) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise BadRecord(f"field 'metadata' is {abbreviate(value)}", 'give a mapping, such as {"lang": "en"}')
    return value


def _parse_path(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    steps = value.split(" > ") if isinstance(value, str) else value if isinstance(value, list | tuple) else None
    if steps is None or not all(isinstance(step, str) for step in steps):
        raise BadRecord(f"field 'section' is {abbreviate(value)}", 'give "A > B" or ["A", "B"]')
    return tuple(clean for step in steps if (clean := " ".join(clean_text(step).split())))
