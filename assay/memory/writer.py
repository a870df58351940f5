"""Writes memories: one writer at a time over all processes, one transaction, durable when it returns."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from assay.errors import ModelError, StoreError
from assay.kb import KnowledgeBase
from assay.memory.entries import chunks_from_entry, derive_id, document_id
from assay.memory.scoped_view import ScopedView
from assay.memory.scopes import SOURCE
from assay.memory.types import MemoryEntry, iso
from assay.store.contract import ChunkWriter
from assay.store.rows import FileState, encode_row
from assay.types import Chunk, Vector

LOCK_NAME = "remembering"
"""The store's lock: what was checked (duplicates, free ids) must still hold when the memory is written."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A memory ready to be written. `lacking` says why it has no vectors ("" when it has, or the store has none)."""

    memory: MemoryEntry
    chunks: tuple[Chunk, ...]
    vectors: tuple[Vector | None, ...]
    problem: str = ""


@contextlib.contextmanager
def write_lock(kb: KnowledgeBase) -> Iterator[None]:
    """Hold the lock under which memories are stored, updated and forgotten."""
    if kb.store.readonly:
        raise StoreError(f"the store {kb.store.address} is read-only here", "copy it to a folder you may write to")
    with kb.store.lock(LOCK_NAME):
        yield


def draft_entries(kb: KnowledgeBase, entries: Sequence[MemoryEntry]) -> list[Draft]:
    """Draft new memories, each with an id derived from its content, and its vectors; all are embedded at once."""
    identified = [entry if entry.id else replace(entry, id=derive_id(entry)) for entry in entries]
    chunks = [tuple(chunks_from_entry(entry, kb.profile)) for entry in identified]
    vectors, problem = _embed_texts(kb, [chunk.indexed_text for own in chunks for chunk in own])
    remaining = iter(vectors)
    return [
        Draft(entry, own, tuple(islice(remaining, len(own))), problem)
        for entry, own in zip(identified, chunks, strict=True)
    ]


def replace_entry(kb: KnowledgeBase, draft: Draft, entry: MemoryEntry) -> Draft:
    """Replace facts or id of a draft with the same text: chunks are rebuilt, vectors stay."""
    return replace(draft, memory=entry, chunks=tuple(chunks_from_entry(entry, kb.profile)))


def redraft_entry(kb: KnowledgeBase, view: ScopedView, before: MemoryEntry, after: MemoryEntry) -> Draft:
    """Draft a changed memory: chunks with unchanged text keep their vectors, the others are embedded."""
    rows = view.rows_of(before)
    known = {
        chunk.id: vector if vector.any() else None
        for chunk, vector in zip(view.snapshot.chunks(rows), view.snapshot.vectors(rows), strict=True)
    }
    chunks = tuple(chunks_from_entry(after, kb.profile))
    new_chunks = [chunk for chunk in chunks if chunk.id not in known]
    vectors, problem = _embed_texts(kb, [chunk.indexed_text for chunk in new_chunks])
    known |= {chunk.id: vector for chunk, vector in zip(new_chunks, vectors, strict=True)}
    return Draft(after, chunks, tuple(known[chunk.id] for chunk in chunks), problem)


def _embed_texts(kb: KnowledgeBase, texts: Sequence[str]) -> tuple[tuple[Vector | None, ...], str]:
    """Embed texts. Without the model, return no vectors and the reason: the memory is stored all the same."""
    no_vectors = (None,) * len(texts)
    if not texts or not kb.store.settings["dim"]:
        return no_vectors, ""
    try:
        model = kb.embedder
        return (tuple(model.encode(texts)), "") if model else (no_vectors, "")
    except ModelError as error:
        return no_vectors, f"it has no vector yet: {error.message}; cure: {error.cure}, then assay optimize --embed"


def is_taken(kb: KnowledgeBase, memory_id: str) -> bool:
    """Whether a live memory has this id, in any scope; used only to choose new ids."""
    return kb.store.has_document(document_id(memory_id))


def write_drafts(kb: KnowledgeBase, drafts: Sequence[Draft], what: str, now: float) -> None:
    """Write some memories, all or none; `what` and the moment become the note of the version."""
    with kb.store.write(version_note(what, now)) as writer:
        _claim_name(kb, writer)
        for draft in drafts:
            file_state = FileState(document_id(draft.memory.id), SOURCE, "", len(draft.memory.text))
            writer.put_file(file_state, zip(map(encode_row, draft.chunks), draft.vectors, strict=True))
    kb.compact_soon()


def remove_entries(kb: KnowledgeBase, entries: Sequence[MemoryEntry], now: float) -> None:
    """Delete memories from this version on."""
    with kb.store.write(version_note("forgotten", now)) as writer:
        for entry in entries:
            writer.remove_file(document_id(entry.id))
    kb.compact_soon()


def version_note(what: str, now: float) -> str:
    return f"memory {what} {iso(now)}"


def _claim_name(kb: KnowledgeBase, writer: ChunkWriter) -> None:
    root = writer.folder_root(SOURCE)
    if root:
        raise StoreError(
            f"the name {SOURCE!r} stands for the folder {root} in {kb.store.address}",
            "keep memories in a store of their own, or add that folder under another name",
        )
    if root is None:
        writer.put_folder(SOURCE, "")
