"""What is in a store: counts, listing, and how far a removal would reach. Read from the record of truth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from assay.backend.contract import StoreBackend
from assay.store.contract import ChunkHead, ChunkStore

_SETTINGS = ("format", "embedder", "model", "dim", "language", "profile", "triples")


@dataclass(frozen=True, slots=True)
class OriginEntry:
    """One file or record of a store. `size` is in bytes, 0 when its record is gone (part of it was removed)."""

    source: str
    origin: str
    size: int
    documents: int
    chunks: int
    tokens: int


@dataclass(frozen=True, slots=True)
class StoreStats:
    """A store in numbers. Sizes are in bytes; `languages` counts live chunks, "" where none was told."""

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
    no_vectors: str = ""


def entries(store: ChunkStore, prefix: str = "") -> list[OriginEntry]:
    """Every file and record whose name begins so, by source and name."""
    counted = {origin: (documents, chunks, tokens) for origin, documents, chunks, tokens in store.extents(prefix)}
    files = {origin: facts for origin, facts in store.files().items() if origin.startswith(prefix)}
    names = sorted({*store.sources(), *(facts.source for facts in files.values())}, key=len, reverse=True)
    found = [
        OriginEntry(
            files[origin].source if origin in files else _source(origin, names),
            origin,
            files[origin].size if origin in files else 0,
            *counted.get(origin, (0, 0, 0)),
        )
        for origin in files.keys() | counted.keys()
    ]
    return sorted(found, key=lambda entry: (entry.source, entry.origin))


def _source(origin: str, names: list[str]) -> str:
    """The source of a chunk whose file record is gone: the longest name that its origin begins with."""
    return next((n for n in names if origin == n or origin.startswith(f"{n}/")), origin.partition("/")[0])


def heads(store: ChunkStore, origin: str) -> Iterator[ChunkHead]:
    """The live chunks of a file, in the order they were added."""
    return store.heads(origin)


def extent(backend: StoreBackend, target: str) -> tuple[int, int]:
    """How many documents and chunks `KnowledgeBase.remove(target)` would take; (0, 0) when nothing is called so."""
    documents, chunks = backend.store.reach(target)
    if chunks:
        return documents, chunks
    found = len(backend.snapshot().ids_from(target, 2)) == 1
    return int(found), int(found)


def stats(backend: StoreBackend) -> StoreStats:
    """Everything worth counting."""
    store = backend.store
    pending = backend.pending
    counted = store.tally()
    return StoreStats(
        chunks=counted.chunks,
        documents=counted.documents,
        tokens=counted.tokens,
        dead=counted.dead,
        without_vector=len(store.lacking_vectors()) if store.settings["dim"] else 0,
        languages=counted.languages,
        oldest=store.oldest(),
        newest=store.version(),
        tags=store.tags(),
        settings={key: store.setting(key) for key in _SETTINGS if key != "triples" or store.setting(key)},
        index=backend.index(),
        pending=pending,
        sizes=backend.sizes(),
        no_vectors=backend.no_vectors,
    )
