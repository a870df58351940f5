"""What is in a store: counts, listing, and how far a removal would reach. Read from the record of truth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from assay.kb import KnowledgeBase
from assay.store.record import Head, Record

_SETTINGS = ("format", "embedder", "model", "dim", "language", "profile", "triples")


@dataclass(frozen=True, slots=True)
class Entry:
    """One file or record of a store. `size` is in bytes, 0 when its record is gone (part of it was removed)."""

    source: str
    origin: str
    size: int
    documents: int
    chunks: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Stats:
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


def entries(store: Record, prefix: str = "") -> list[Entry]:
    """Every file and record whose name begins so, by source and name."""
    counted = {origin: (documents, chunks, tokens) for origin, documents, chunks, tokens in store.extents(prefix)}
    files = {origin: facts for origin, facts in store.files().items() if origin.startswith(prefix)}
    names = sorted({*store.sources(), *(facts.source for facts in files.values())}, key=len, reverse=True)
    found = [
        Entry(
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


def heads(store: Record, origin: str) -> Iterator[Head]:
    """The live chunks of a file, in the order they were added."""
    return store.heads(origin)


def extent(kb: KnowledgeBase, target: str) -> tuple[int, int]:
    """How many documents and chunks `kb.remove(target)` would take; (0, 0) when nothing is called so."""
    documents, chunks = kb.store.reach(target)
    if chunks:
        return documents, chunks
    found = len(kb.snapshot().ids_from(target, 2)) == 1
    return int(found), int(found)


def stats(kb: KnowledgeBase) -> Stats:
    """Everything worth counting."""
    store = kb.store
    pending = kb.backend.pending
    counted = store.tally()
    return Stats(
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
        index=kb.backend.index(),
        pending=pending,
        sizes=kb.backend.sizes(),
        no_vectors=kb.backend.no_vectors,
    )
