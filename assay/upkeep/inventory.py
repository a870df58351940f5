"""Counts, lists and exports the content of a store, and counts what a removal would delete."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from assay.backend.contract import StoreBackend, StoreSnapshot
from assay.errors import Reason
from assay.store.contract import ChunkHead, ChunkStore

_SETTINGS = ("format", "embedder", "model", "dim", "language", "profile")
_OPTIONAL = ("triples", "k1", "b")
"""Settings that only some stores have."""


@dataclass(frozen=True, slots=True)
class OriginEntry:
    """One file or record of a store. `size` is in bytes, 0 when part of it was removed."""

    folder: str
    origin: str
    size: int
    documents: int
    chunks: int
    tokens: int


@dataclass(frozen=True, slots=True)
class StoreStats:
    """A store in numbers. Sizes are in bytes; `languages` counts live chunks, "" where none is known."""

    chunks: int
    documents: int
    tokens: int
    dead: int
    without_vector: int
    languages: Mapping[str, int]
    oldest: int
    newest: int
    tags: Mapping[str, int]
    settings: Mapping[str, Any]
    index: Mapping[str, Any] | None
    pending: int
    sizes: Mapping[str, int]
    no_vectors: Reason | None = None


def list_origins(store: ChunkStore, prefix: str = "") -> list[OriginEntry]:
    """Every file and record whose name has this prefix, by source and name."""
    counts = {origin: (documents, chunks, tokens) for origin, documents, chunks, tokens in store.origin_extents(prefix)}
    files = {origin: file for origin, file in store.files().items() if origin.startswith(prefix)}
    names = sorted({*store.folders(), *(file.folder for file in files.values())}, key=len, reverse=True)
    entries = [
        OriginEntry(
            files[origin].folder if origin in files else _guess_folder(origin, names),
            origin,
            files[origin].size if origin in files else 0,
            *counts.get(origin, (0, 0, 0)),
        )
        for origin in files.keys() | counts.keys()
    ]
    return sorted(entries, key=lambda entry: (entry.folder, entry.origin))


def _guess_folder(origin: str, names: list[str]) -> str:
    """The source of a chunk whose file is not listed any more: the longest name that its origin begins with."""
    return next((n for n in names if origin == n or origin.startswith(f"{n}/")), origin.partition("/")[0])


def list_heads(store: ChunkStore, origin: str) -> Iterator[ChunkHead]:
    """The live chunks of a file, in the order they were added."""
    return store.heads(origin)


def count_removal(backend: StoreBackend, target: str) -> tuple[int, int]:
    """How many documents and chunks `KnowledgeBase.remove(target)` would take; (0, 0) when nothing is called so."""
    documents, chunks = backend.store.count_target(target)
    if chunks:
        return documents, chunks
    is_chunk = len(backend.snapshot().ids_with_prefix(target, 2)) == 1
    return int(is_chunk), int(is_chunk)


def collect_stats(backend: StoreBackend) -> StoreStats:
    """Everything worth counting."""
    store = backend.store
    pending = backend.pending
    counts = store.count_chunks()
    return StoreStats(
        chunks=counts.chunks,
        documents=counts.documents,
        tokens=counts.tokens,
        dead=counts.dead,
        without_vector=len(store.rows_without_vector()) if store.settings["dim"] else 0,
        languages=counts.languages,
        oldest=store.oldest(),
        newest=store.version(),
        tags=store.tags(),
        settings={key: store.setting(key) for key in _SETTINGS}
        | {key: value for key in _OPTIONAL if (value := store.setting(key)) not in (None, "")},
        index=backend.index(),
        pending=pending,
        sizes=backend.sizes(),
        no_vectors=backend.no_vectors,
    )


_BATCH = 1_000


def export_lines(view: StoreSnapshot, with_vectors: bool) -> Iterator[str]:
    """`{"id", "doc_id", "text", "tokens", "created", "importance", "meta"}`, "vector" if wanted; undated is null."""
    rows = view.live_rows(None)
    for start in range(0, len(rows), _BATCH):
        part = rows[start : start + _BATCH]
        vectors = view.vectors(part) if with_vectors else None
        for position, chunk in enumerate(view.chunks(part)):
            record: dict[str, Any] = {
                "id": chunk.id,
                "doc_id": chunk.doc_id,
                "text": chunk.text,
                "tokens": chunk.tokens,
                "created": None if chunk.created != chunk.created else chunk.created,
                "importance": chunk.importance,
                "meta": dict(chunk.meta),
            }
            if vectors is not None:
                record["vector"] = [float(x) for x in vectors[position]]
            yield json.dumps(record, ensure_ascii=False)
