"""What is in a store: counts, listing, and how far a removal would reach. Read from the record of truth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.kb import KnowledgeBase
from assay.store.sqlite import DATABASE, Store


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
class Head:
    """One chunk by its first words."""

    id: str
    doc_id: str
    tokens: int
    text: str


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


def entries(store: Store, prefix: str = "") -> list[Entry]:
    """Every file and record whose name begins so, by source and name."""
    live = store.db.execute(
        "SELECT origin, count(DISTINCT doc_id), count(*), sum(tokens) FROM chunk "
        "WHERE died IS NULL AND substr(origin, 1, ?) = ? GROUP BY origin",
        (len(prefix), prefix),
    )
    counted = {origin: (documents, chunks, tokens) for origin, documents, chunks, tokens in live}
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


def heads(store: Store, origin: str) -> Iterator[Head]:
    """The live chunks of a file, in the order they were added."""
    rows = store.db.execute(
        "SELECT id, doc_id, tokens, substr(text, 1, 200) FROM chunk WHERE origin = ? AND died IS NULL ORDER BY seq",
        (origin,),
    )
    return (Head(*row) for row in rows)


def extent(kb: KnowledgeBase, target: str) -> tuple[int, int]:
    """How many documents and chunks `kb.remove(target)` would take; (0, 0) when nothing is called so."""
    below = f"{target}/"
    documents, chunks = kb.store.db.execute(
        "SELECT count(DISTINCT doc_id), count(*) FROM chunk "
        "WHERE died IS NULL AND (origin = ?1 OR doc_id = ?1 OR substr(origin, 1, ?2) = ?3)",
        (target, len(below), below),
    ).fetchone()
    if chunks:
        return documents, chunks
    found = len(kb.snapshot().ids_from(target, 2)) == 1
    return int(found), int(found)


def stats(kb: KnowledgeBase) -> Stats:
    """Everything worth counting."""
    store = kb.store
    pending = kb.backend.pending
    generation = kb.backend.generation
    chunks, documents, tokens = store.db.execute(
        "SELECT count(*), count(DISTINCT doc_id), coalesce(sum(tokens), 0) FROM chunk WHERE died IS NULL"
    ).fetchone()
    languages = store.db.execute(
        "SELECT coalesce(json_extract(meta, '$.lang'), ''), count(*) FROM chunk WHERE died IS NULL "
        "GROUP BY 1 ORDER BY 2 DESC, 1"
    )
    return Stats(
        chunks=chunks,
        documents=documents,
        tokens=tokens,
        dead=store.db.execute("SELECT count(*) FROM chunk WHERE died IS NOT NULL").fetchone()[0],
        without_vector=len(store.lacking_vectors()) if store.settings["dim"] else 0,
        languages={str(name): number for name, number in languages},
        oldest=store.oldest(),
        newest=store.version(),
        tags=store.tags(),
        settings={key: store.setting(key) for key in ("format", "embedder", "model", "dim", "language", "profile")},
        index=None if generation is None else {"name": generation.folder.name, **generation.manifest},
        pending=pending,
        sizes={
            "database": sum(_weight(store.folder / f"{DATABASE}{end}") for end in ("", "-wal", "-shm")),
            "index": _weight(store.folder / "generations"),
            "older snapshots": _weight(store.folder / "snapshots"),
        },
    )


def _weight(path: Path) -> int:
    """Bytes of a file or of everything under a folder; 0 where there is none."""
    if path.is_file():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
