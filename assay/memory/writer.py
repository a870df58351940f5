"""Writing memories: one writer at a time over all processes, one transaction, durable when it returns."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from assay.errors import ModelError, StoreError
from assay.kb import KnowledgeBase
from assay.memory.entries import chunks_of, document_id, new_id
from assay.memory.scopes import SOURCE
from assay.memory.types import MemoryEntry, iso
from assay.memory.window import Window
from assay.store.contract import ChunkWriter
from assay.store.rows import FileFacts, stored
from assay.types import Chunk, Vector

TURN = "remembering"
"""What is checked (is it known? is the id free?) must still hold when it is written."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A memory ready to be written. `lacking` says why it has no vectors ("" when it has, or the store has none)."""

    entry: MemoryEntry
    chunks: tuple[Chunk, ...]
    vectors: tuple[Vector | None, ...]
    lacking: str = ""


@contextlib.contextmanager
def turn(kb: KnowledgeBase) -> Iterator[None]:
    """Wait until nobody else stores, updates or forgets, and keep others waiting."""
    if kb.store.readonly:
        raise StoreError(f"the store {kb.store.address} is read-only here", "copy it to a folder you may write to")
    with kb.store.turn(TURN):
        yield


def drafted(kb: KnowledgeBase, entry: MemoryEntry) -> Draft:
    """A new memory under the id its content gives it, with its vectors."""
    named = entry if entry.id else replace(entry, id=new_id(entry))
    chunks = tuple(chunks_of(named, kb.profile))
    vectors, lacking = _embedded(kb, [chunk.indexed_text for chunk in chunks])
    return Draft(named, chunks, vectors, lacking)


def renamed(kb: KnowledgeBase, draft: Draft, entry: MemoryEntry) -> Draft:
    """The same text with other facts or another id: chunks are made anew, vectors stay."""
    return replace(draft, entry=entry, chunks=tuple(chunks_of(entry, kb.profile)))


def redrafted(kb: KnowledgeBase, window: Window, before: MemoryEntry, after: MemoryEntry) -> Draft:
    """A memory that changes: chunks whose text stays keep their vectors, the others are embedded."""
    rows = window.rows_of(before)
    known = {
        chunk.id: vector if vector.any() else None
        for chunk, vector in zip(window.view.chunks(rows), window.view.vectors(rows), strict=True)
    }
    chunks = tuple(chunks_of(after, kb.profile))
    fresh = [chunk for chunk in chunks if chunk.id not in known]
    made, lacking = _embedded(kb, [chunk.indexed_text for chunk in fresh])
    known |= {chunk.id: vector for chunk, vector in zip(fresh, made, strict=True)}
    return Draft(after, chunks, tuple(known[chunk.id] for chunk in chunks), lacking)


def _embedded(kb: KnowledgeBase, texts: Sequence[str]) -> tuple[tuple[Vector | None, ...], str]:
    """A vector per text. A memory is kept even where its model cannot be had just now."""
    nothing = (None,) * len(texts)
    if not texts or not kb.store.settings["dim"]:
        return nothing, ""
    try:
        model = kb.embedder
        return (tuple(model.encode(texts)), "") if model else (nothing, "")
    except ModelError as error:
        return nothing, f"it has no vector yet: {error.message}; cure: {error.cure}, then assay optimize --embed"


def is_taken(kb: KnowledgeBase, memory_id: str) -> bool:
    """Is there a live memory of this id, in any scope? Only the naming of new ones asks."""
    return kb.store.has_document(document_id(memory_id))


def put(kb: KnowledgeBase, drafts: Sequence[Draft], what: str, now: float) -> None:
    """Write some memories, all or none; `what` and the moment become the note of the version."""
    with kb.store.write(noted(what, now)) as writer:
        _claim(kb, writer)
        for draft in drafts:
            facts = FileFacts(document_id(draft.entry.id), SOURCE, "", len(draft.entry.text))
            writer.put_file(facts, zip(map(stored, draft.chunks), draft.vectors, strict=True))
    kb.compact_soon()


def remove(kb: KnowledgeBase, entries: Sequence[MemoryEntry], now: float) -> None:
    """Hide some memories from every snapshot from here on."""
    with kb.store.write(noted("forgotten", now)) as writer:
        for entry in entries:
            writer.remove_file(document_id(entry.id))
    kb.compact_soon()


def noted(what: str, now: float) -> str:
    return f"memory {what} {iso(now)}"


def _claim(kb: KnowledgeBase, writer: ChunkWriter) -> None:
    root = writer.root_of(SOURCE)
    if root:
        raise StoreError(
            f"the name {SOURCE!r} stands for the folder {root} in {kb.store.address}",
            "keep memories in a store of their own, or add that folder under another name",
        )
    if root is None:
        writer.put_source(SOURCE, "")
