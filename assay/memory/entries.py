"""A memory becomes chunks, and chunks become a memory again: one document, of one chunk where it fits the model.

A longer text is cut as any document is; the white space between two chunks is kept beside the later one, so that the
text comes back letter for letter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from assay.errors import QueryError
from assay.ingest.chunk import Profile, chunk_document, chunk_id
from assay.ingest.dates import brief, parse_moment
from assay.ingest.files import tidy
from assay.memory.scopes import SOURCE, checked
from assay.memory.types import MemoryEntry, iso
from assay.types import Chunk, Document, Section

LONGEST_LABEL = 100
"""Characters of a category or a tag."""
LONGEST_TEXT = 1_000_000
_MICRO = 1_000_000.0


def made(
    text: str,
    scope: str,
    category: str,
    importance: float,
    tags: Iterable[str],
    created: float,
    expires: float | None,
    now: float,
) -> MemoryEntry:
    """A new memory, checked, without an id yet; QueryError names what is wrong."""
    return MemoryEntry(
        id="",
        text=clean(text),
        scope=checked(scope),
        category=label("category", category),
        importance=share(importance),
        tags=labels(tags),
        created=created,
        updated=now,
        expires=expires,
    )


def clean(text: object) -> str:
    """A text as it is remembered: no NUL, no lone surrogates, no white space around it."""
    if not isinstance(text, str):
        raise QueryError(f"a memory is a text, not {brief(text)}", "give a string")
    if len(text) > LONGEST_TEXT:
        raise QueryError(
            f"a memory of {len(text):,} characters", f"keep it below {LONGEST_TEXT:,}, or add it as a file"
        )
    return tidy(text).strip()


def share(importance: object) -> float:
    if isinstance(importance, bool) or not isinstance(importance, int | float) or not 0.0 <= importance <= 1.0:
        raise QueryError(f"importance is {brief(importance)}", "give a number from 0 to 1")
    return float(importance)


def label(what: str, value: object) -> str:
    """A category or tag: a short printable word or phrase."""
    named = value.strip() if isinstance(value, str) else ""
    if not named or not named.isprintable() or len(named) > LONGEST_LABEL:
        raise QueryError(f"{what} is {brief(value)}", f"give a short text of at most {LONGEST_LABEL} characters")
    return named


def labels(tags: Iterable[str]) -> tuple[str, ...]:
    """Tags, each once, sorted. One text is one tag, never its letters."""
    return tuple(sorted({label("a tag", tag) for tag in ((tags,) if isinstance(tags, str) else tags)}))


def moment(value: str | float | None, now: float) -> float:
    """A date that was given, to the microsecond (so that it can be written down and read back), or now."""
    return round((now if value is None else parse_moment(value)) * _MICRO) / _MICRO


def new_id(entry: MemoryEntry, times_before: int = 0) -> str:
    """16 characters a-z2-7, derived from scope, creation date and text; the same text may be remembered twice."""
    return chunk_id(SOURCE, (entry.scope, iso(entry.created)), entry.text, times_before)


def document_id(memory_id: str) -> str:
    return f"{SOURCE}/{memory_id}"


def chunks_of(entry: MemoryEntry, profile: Profile) -> list[Chunk]:
    """The chunks that hold a memory."""
    document = Document(
        id=document_id(entry.id),
        title="",
        sections=(Section((), entry.text),),
        created=entry.created,
        importance=entry.importance,
        meta=_facts(entry),
    )
    chunks = chunk_document(document, profile)
    return chunks if len(chunks) == 1 else [_piece(entry.text, chunks, place) for place in range(len(chunks))]


def _facts(entry: MemoryEntry) -> dict[str, Any]:
    facts: dict[str, Any] = {"scope": entry.scope, "category": entry.category, "updated": entry.updated}
    facts |= {"tags": list(entry.tags)} if entry.tags else {}
    facts |= {} if entry.expires is None else {"expires": entry.expires}
    facts |= {"supersedes": list(entry.supersedes)} if entry.supersedes else {}
    facts |= {"superseded_by": entry.superseded_by} if entry.superseded_by else {}
    return facts


def _piece(text: str, chunks: Sequence[Chunk], place: int) -> Chunk:
    """One of several chunks: it also knows how many there are and what white space stands before it.

    Both stand in a table of their own, which no filter column is made of.
    """
    chunk = chunks[place]
    before = chunks[place - 1] if place else None
    behind = before.meta["start"] + len(before.text) if before else 0
    piece = {"of": len(chunks), "space": text[behind : chunk.meta["start"]]}
    return replace(chunk, meta={**chunk.meta, "piece": piece})


def pieces(chunk: Chunk) -> int:
    """Of how many chunks the memory is that this one belongs to."""
    return int(chunk.meta["piece"]["of"]) if "piece" in chunk.meta else 1


def entry_of(chunks: Sequence[Chunk]) -> MemoryEntry:
    """The memory that these chunks are, in any order."""
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
