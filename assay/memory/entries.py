"""Converts a memory to chunks and back. A memory is one document, of one chunk if it fits the model.

A longer text is chunked like any document. The white space between two chunks is stored with the later one, so that the
text can be restored exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from assay.errors import QueryError
from assay.ingest.chunker import Profile, chunk_document, chunk_id
from assay.ingest.dates import abbreviate, parse_moment
from assay.ingest.files import clean_text
from assay.memory.scopes import SOURCE, check_scope
from assay.memory.types import MemoryEntry, iso
from assay.types import Chunk, Document, Section

MAX_LABEL = 100
"""The most characters of a category or a tag."""
MAX_TEXT = 1_000_000
_MICRO = 1_000_000.0


def new_entry(
    text: str,
    scope: str,
    category: str,
    importance: float,
    tags: Iterable[str],
    created: float,
    expires: float | None,
    now: float,
) -> MemoryEntry:
    """Make a checked memory without an id; QueryError names what is wrong."""
    return MemoryEntry(
        id="",
        text=check_text(text),
        scope=check_scope(scope),
        category=check_label("category", category),
        importance=check_importance(importance),
        tags=check_tags(tags),
        created=created,
        updated=now,
        expires=expires,
    )


def check_text(text: object, most: int = MAX_TEXT) -> str:
    """Check and clean a text: no NUL, no lone surrogates, no surrounding white space."""
    if not isinstance(text, str):
        raise QueryError(f"a memory is a text, not {abbreviate(text)}", "give a string")
    if len(text) > most:
        raise QueryError(f"a memory of {len(text):,} characters", f"keep it below {most:,}, or add it as a file")
    return clean_text(text).strip()


def check_importance(importance: object) -> float:
    if isinstance(importance, bool) or not isinstance(importance, int | float) or not 0.0 <= importance <= 1.0:
        raise QueryError(f"importance is {abbreviate(importance)}", "give a number from 0 to 1")
    return float(importance)


def check_label(what: str, value: object) -> str:
    """Check a category or tag: a short printable word or phrase."""
    text_label = value.strip() if isinstance(value, str) else ""
    if not text_label or not text_label.isprintable() or len(text_label) > MAX_LABEL:
        raise QueryError(f"{what} is {abbreviate(value)}", f"give a short text of at most {MAX_LABEL} characters")
    return text_label


def check_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Check tags and sort them, each once. A single string is one tag."""
    return tuple(sorted({check_label("a tag", tag) for tag in ((tags,) if isinstance(tags, str) else tags)}))


def resolve_moment(value: str | float | None, now: float, argument: str) -> float:
    """Parse the date that an argument has, rounded to the microsecond so that its text form reads back equal; None is
    now."""
    try:
        moment = now if value is None else parse_moment(value)
    except QueryError as error:
        raise QueryError(f"{argument} is {abbreviate(value)}, which is not a date", error.cure) from error
    return round(moment * _MICRO) / _MICRO


def derive_id(entry: MemoryEntry, times_before: int = 0) -> str:
    """Derive an id from scope, creation date and text: 16 characters a-z2-7; `times_before` tells equal texts apart."""
    return chunk_id(SOURCE, (entry.scope, iso(entry.created)), entry.text, times_before)


def document_id(memory_id: str) -> str:
    return f"{SOURCE}/{memory_id}"


def chunks_from_entry(entry: MemoryEntry, profile: Profile) -> list[Chunk]:
    """Split a memory into chunks."""
    document = Document(
        id=document_id(entry.id),
        title="",
        sections=(Section((), entry.text),),
        created=entry.created,
        importance=entry.importance,
        meta=_metadata(entry),
    )
    chunks = chunk_document(document, profile)
    return chunks if len(chunks) == 1 else [_add_piece(entry.text, chunks, place) for place in range(len(chunks))]


def _metadata(entry: MemoryEntry) -> dict[str, Any]:
    facts: dict[str, Any] = {"scope": entry.scope, "category": entry.category, "updated": entry.updated}
    facts |= {"tags": list(entry.tags)} if entry.tags else {}
    facts |= {} if entry.expires is None else {"expires": entry.expires}
    facts |= {"supersedes": list(entry.supersedes)} if entry.supersedes else {}
    facts |= {"superseded_by": entry.superseded_by} if entry.superseded_by else {}
    return facts


def _add_piece(text: str, chunks: Sequence[Chunk], place: int) -> Chunk:
    """Add to one of several chunks how many there are and the white space before it.

    Both are stored under `piece`, which becomes no filter column.
    """
    chunk = chunks[place]
    previous = chunks[place - 1] if place else None
    end = previous.meta["start"] + len(previous.text) if previous else 0
    piece = {"of": len(chunks), "space": text[end : chunk.meta["start"]]}
    return replace(chunk, meta={**chunk.meta, "piece": piece})


def count_pieces(chunk: Chunk) -> int:
    """The number of chunks of the memory that a chunk belongs to."""
    return int(chunk.meta["piece"]["of"]) if "piece" in chunk.meta else 1


def entry_from_chunks(chunks: Sequence[Chunk]) -> MemoryEntry:
    """Rebuild a memory from its chunks, in any order."""
    ordered = sorted(chunks, key=lambda chunk: chunk.meta["start"])
    first, meta = ordered[0], ordered[0].meta
    return MemoryEntry(
        id=first.doc_id.removeprefix(f"{SOURCE}/"),
        text="".join(chunk.meta.get("piece", {}).get("space", "") + chunk.text for chunk in ordered),
        scope=str(meta["scope"]),
        category=str(meta["category"]),
        importance=first.importance,
        tags=tuple(meta.get("tags", ())),
        created=first.created,
        updated=float(meta["updated"]),
        expires=meta.get("expires"),
        supersedes=tuple(meta.get("supersedes", ())),
        superseded_by=str(meta.get("superseded_by", "")),
        tokens=sum(chunk.tokens for chunk in ordered),
    )
