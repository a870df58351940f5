"""A mapping becomes a document: one rule for JSON lines, for table rows and for `kb.add([{…}, …])`.

    id, _id                    identity; without one the caller's fallback, else a digest of title and text
    text, content, body        the text; required, but may be empty when there is a title
    section                    the heading path, "A > B" or ["A", "B"]
    metadata, meta             a mapping whose fields count as the record's own
    everything else            as in `fields.facts_from`

The first name that has a value counts; the others of its line are metadata.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from numbers import Integral
from typing import Any

from assay.errors import BadRecord
from assay.ingest.dates import brief
from assay.ingest.fields import facts_from
from assay.ingest.files import tidy
from assay.types import Document, Section

IDS = ("id", "_id")
TEXTS = ("text", "content", "body")
METAS = ("metadata", "meta")
LONGEST_ID = 1000  # characters


def document_from(
    record: Mapping[str, Any], *, prefix: str = "", fallback_id: str = "", notes: tuple[str, ...] = ()
) -> Document:
    """The document a record describes; its id is prefix + id. BadRecord names the field that is wrong.

    A record without text but with a title is found by its title. `notes` go into its metadata.
    """
    if not isinstance(record, Mapping):
        raise BadRecord(f"a record is a mapping of fields, not {brief(record)}", 'write {"text": "…"}')
    rest = {key: value for key, value in record.items() if value is not None}
    identity = _identity(_take(rest, IDS))
    text = _text(_take(rest, TEXTS), titled=bool(rest.get("title")))
    path = _path(rest.pop("section", None))
    # A `created` the record gives itself must be a date; one in foreign metadata is kept with a note if it is none.
    facts = facts_from({**_nested(_take(rest, METAS)), **rest}, strict_created="created" in rest, notes=notes)
    body = text if text.strip() else facts.title
    return Document(
        id=prefix + (identity or fallback_id or _digest(facts.title, text)),
        title=facts.title,
        sections=(Section(path, body),) if body else (),
        created=facts.created,
        importance=facts.importance,
        meta={**facts.meta, "record": identity} if identity else facts.meta,
    )


def _take(rest: dict[str, Any], names: tuple[str, ...]) -> Any:
    """The first of these fields that has a value, removed from the rest."""
    return next((rest.pop(name) for name in names if name in rest), None)


def _digest(title: str, text: str) -> str:
    return blake2b(f"{title}\0{text}".encode(), digest_size=10).hexdigest()


def _identity(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | Integral):
        raise BadRecord(f"field 'id' is {brief(value)}", "give a text or a whole number")
    identity = tidy(str(value)).strip()
    if len(identity) > LONGEST_ID:
        raise BadRecord(f"field 'id' has {len(identity)} characters", f"use at most {LONGEST_ID}")
    return identity


def _text(value: Any, *, titled: bool) -> str:
    if value is None and titled:
        return ""
    if value is None:
        raise BadRecord("field 'text' is missing", "name the text 'text', 'content' or 'body'")
    if not isinstance(value, str):
        raise BadRecord(f"field 'text' is {brief(value)}, which is not a text", "give a string")
    return tidy(value)


def _nested(value: Any) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise BadRecord(f"field 'metadata' is {brief(value)}", 'give a mapping, such as {"lang": "en"}')
    return value


def _path(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    steps = value.split(" > ") if isinstance(value, str) else value if isinstance(value, list | tuple) else None
    if steps is None or not all(isinstance(step, str) for step in steps):
        raise BadRecord(f"field 'section' is {brief(value)}", 'give "A > B" or ["A", "B"]')
    return tuple(clean for step in steps if (clean := " ".join(tidy(step).split())))
