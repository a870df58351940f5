"""One file, words only: FTS5 gives the posting lists, we score them; nothing is built beside the record of truth."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from assay.backend.contract import NO_GRAPH, Check, Erased
from assay.backend.shared.postings_bm25 import LiveRows, Posting
from assay.backend.shared.postings_snapshot import PostingsSnapshot, RowCache
from assay.backend.sqlite.filters import OWN_KINDS, condition
from assay.backend.sqlite.store import OneFileStore
from assay.errors import StoreError
from assay.protocols import Found
from assay.store.db_errors import translate_errors
from assay.store.erase import erase_rows, shrink
from assay.store.rows import ChunkRow
from assay.store.validation import check_version, forgotten
from assay.text.spell import spelt
from assay.types import Chunk, Floats, Progress, Query, Rows, Vector, Vectors
from assay.where import Compare, Filter

NO_VECTORS = (
    "a one-file store searches words only; "
    "cure: keep it in a folder (--store ./kb): assay copy ./kb, then assay reembed --store ./kb"
)
_MOST_POSTINGS = 2_000_000
"""Entries of posting lists that are remembered between two writes: 32 MB."""


@dataclass
class _FileView:
    """What has been read of the file at one version: every row's length and digest, posting lists by term."""

    seqs: Rows
    lengths: Floats
    marks: bytes
    postings: dict[str, Posting] = field(default_factory=dict)
    held: int = 0


def _nothing() -> _FileView:
    return _FileView(np.empty(0, np.int64), np.empty(0), b"")


class OneFileSnapshot(PostingsSnapshot):
    """Rows born up to a version and not dead by it; later writes change nothing of that."""

    all_first = True

    def __init__(self, store: OneFileStore, version: int, known: _FileView, dead: Rows, cache: RowCache) -> None:
        alive = known.seqs <= store.last_seq(version)
        alive[np.searchsorted(known.seqs, dead)] = False
        marks = np.frombuffer(known.marks, "V16")[alive].tobytes()
        super().__init__(version, LiveRows(known.seqs[alive], known.lengths[alive]), marks, store.analyser, "")
        self._store, self._known, self._cache = store, known, cache

    @property
    def capabilities(self) -> frozenset[str]:
        return frozenset({"lexical", "exact"})

    def lacks(self, capability: str) -> str:
        if capability in self.capabilities:
            return ""
        return {"dense": NO_VECTORS, "graph": NO_GRAPH}.get(capability, f"a one-file store cannot do {capability!r}")

    def nearest(self, query: Query, k: int) -> Found:
        raise StoreError(NO_VECTORS)

    def vectors(self, rows: Rows) -> Vectors:
        return np.zeros((len(rows), 1), np.float32)

    def postings(self, terms: Sequence[str]) -> list[Posting]:
        return [self._posting(term) for term in terms]

    def _posting(self, term: str) -> Posting:
        known = self._known
        found = known.postings.get(term)
        if found is None:
            with translate_errors(self._store.place):
                # Every place of the term in one text: numbers in a list are read faster than rows of one.
                (said,) = self._store.db.execute(
                    "SELECT group_concat(doc) FROM place WHERE term = ?", (spelt(term),)
                ).fetchone()
            places = np.fromstring(said or "", np.int64, sep=",")
            rows, counts = np.unique(places, return_counts=True)
            found = rows, np.minimum(counts, 65_535).astype(np.float64)
            if known.held > _MOST_POSTINGS:
                known.postings, known.held = {}, 0
            known.postings[term] = found
            known.held += len(rows)
        return found

    def passing(self, where: Filter | None, at: float | None, scope: str | None) -> Rows:
        tests = [] if where is None else [condition(where, self.kinds())]
        if at is not None:
            tests.append(("chunk.created IS NULL OR chunk.created <= ?", [at]))  # the undated are never hidden
        if scope is not None:
            asked = Compare("scope", "=", scope)
            tests.append(condition(asked, self.kinds()) if "text" in self.kinds().get("scope", ()) else ("0", []))
        sql = " AND ".join(f"({test})" for test, _ in tests) or "1"
        found = self._select(
            f"SELECT chunk.seq FROM chunk JOIN doc USING (seq) WHERE {sql} ORDER BY chunk.seq",
            [value for _, values in tests for value in values],
        )
        return np.array([row[0] for row in found], np.int64)

    def read(self, seqs: Sequence[int]) -> list[ChunkRow]:
        return self._cache.get(seqs, self._store)

    def named(self, ids: Sequence[str]) -> dict[str, int]:
        found: dict[str, int] = {}
        for name in ids:
            if _is_odd(name):
                continue
            for (seq,) in self._select(
                "SELECT seq FROM chunk WHERE id = ?1 AND died IS NULL AND born <= ?2 UNION ALL "
                "SELECT seq FROM chunk INDEXED BY dead WHERE died > ?2 AND id = ?1 AND born <= ?2",
                (name, self.version),
            ):
                found[name] = seq
        return found

    def names(self, seqs: Sequence[int]) -> list[str]:
        found: dict[int, str] = {}
        for start in range(0, len(seqs), 500):
            part = list(seqs[start : start + 500])
            found.update(self._select(f"SELECT seq, id FROM chunk WHERE seq IN ({','.join('?' * len(part))})", part))
        try:
            return [found[seq] for seq in seqs]
        except KeyError:
            raise forgotten(self._store.place) from None

    def ids_from(self, beginning: str, most: int = 20) -> list[str]:
        if _is_odd(beginning):
            return []
        found = self._select(
            "SELECT id FROM chunk WHERE born <= ?1 AND (died IS NULL OR died > ?1) AND substr(id, 1, ?2) = ?3 "
            "ORDER BY id LIMIT ?4",
            (self.version, len(beginning), beginning, most),
        )
        return [name for (name,) in found]

    def kinds(self) -> dict[str, set[str]]:
        return {name: set(kinds) for name, kinds in self._kinds.items()}

    @cached_property
    def _kinds(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {name: {kind} for name, kind in OWN_KINDS.items()}
        for name, kind in self._select("SELECT name, kind FROM field", ()):
            if name not in OWN_KINDS:
                found.setdefault(name, set()).add(kind)
        return found

    def _select(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        with translate_errors(self._store.place):
            return self._store.db.execute(sql, values).fetchall()


def _is_odd(text: str) -> bool:
    """Does it hold a lone surrogate? Then nothing in a store is called so."""
    return any("\ud800" <= c <= "\udfff" for c in text)


class OneFileBackend:
    """Implements `kept.KeptBackend` over one file. Safe for threads; processes may share the file."""

    def __init__(self, store: OneFileStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._cache = RowCache()
        self._known = _nothing()
        self._current: OneFileSnapshot | None = None

    @property
    def store(self) -> OneFileStore:
        return self._store

    # -- reading

    def snapshot(self, version: int | None = None) -> OneFileSnapshot:
        with self._lock:
            newest = self._newest()
        if version in (None, newest.version):
            return newest
        check_version(version, self._store.oldest(), newest.version)
        return self._view(version, newest._known)

    def _newest(self) -> OneFileSnapshot:
        version = self._store.version()
        if self._current is None or version != self._current.version:
            with self._store.reading():
                version = self._store.version()
                self._known = self._grown()
                self._current = self._view(version, self._known)
        return self._current

    def _grown(self) -> _FileView:
        """What was known, with the rows committed since, by this process or another."""
        known, db = self._known, self._store.db
        since = int(known.seqs[-1]) if len(known.seqs) else 0
        if db.execute("SELECT count(*) FROM doc WHERE seq <= ?", (since,)).fetchone() != (len(known.seqs),):
            known, since = _nothing(), 0  # another process erased rows: what is known names them
            self._cache.clear()
        fresh = db.execute("SELECT seq, terms, facts FROM doc WHERE seq > ? ORDER BY seq", (since,)).fetchall()
        return _FileView(
            np.concatenate([known.seqs, np.array([row[0] for row in fresh], np.int64)]),
            np.concatenate([known.lengths, np.array([row[1] for row in fresh], np.float64)]),
            known.marks + b"".join([row[2] for row in fresh]),
        )

    def _view(self, version: int, known: _FileView) -> OneFileSnapshot:
        with translate_errors(self._store.place):
            found = self._store.db.execute(
                "SELECT seq FROM chunk INDEXED BY dead WHERE died <= ? ORDER BY seq", (version,)
            )
            dead = np.array([row[0] for row in found], np.int64)
        return OneFileSnapshot(self._store, version, known, dead[np.isin(dead, known.seqs)], self._cache)

    # -- writing

    def put(self, items: Iterable[tuple[Chunk, Vector | None]], origin: str = "") -> int:
        with self._store.write("put") as writer:
            for chunk, vector in items:
                writer.put(chunk, vector, origin)  # refuses a vector: this store holds none
        return writer.version if writer.changed else self._store.version()

    def remove(self, ids: Iterable[str]) -> int:
        with self._store.write("remove") as writer:
            for name in ids:
                writer.remove_chunk(name)
        return writer.version if writer.changed else self._store.version()

    # -- upkeep

    no_vectors = NO_VECTORS
    pending = 0
    due = False
    wants_index = False

    def index(self) -> Mapping[str, Any] | None:
        view = self.snapshot()
        return {"name": "FTS5, in the file", "chunks": view.size, "version": view.version}

    def sizes(self) -> Mapping[str, int]:
        return self._store.sizes()

    def compact(self, progress: Progress = lambda *_: None, force: bool = False) -> bool:
        """The index is never behind; `force` merges its pieces into one, which makes the file smaller."""
        if self._store.readonly or not force:
            return False
        progress("merging words", 0, 1)
        self._store.merge_words()
        progress("merging words", 1, 1)
        return True

    def forget(self, version: int, progress: Progress = lambda *_: None) -> int:
        with self._store.write(f"forget before v{version}") as writer:
            gone = writer.forget_dead(version)
        self._start_over()
        self.compact(progress, force=True)
        shrink(self._store.db, gone)
        return gone

    def erase(self, doc_ids: Sequence[str], note: str) -> Erased:
        done = Erased()
        erase_rows(self._store, doc_ids, note, done.erased, done.unreached, before=self._store.merge_words)
        self._start_over()
        return done

    def _start_over(self) -> None:
        """Forget what was read: rows are gone that it names."""
        with self._lock:
            self._cache.clear()
            self._current = None
            self._known = _nothing()

    def health(self) -> list[Check]:
        return []

    def sweep(self) -> int:
        return 0

    def close(self) -> None:
        self._start_over()
        self._store.close()


class OneFileFactory:
    """Implements `kept.Place` for paths of files."""

    no_vectors = NO_VECTORS

    def exists(self, address: str) -> bool:
        return OneFileStore.exists(Path(address))

    def create(self, address: str, settings: Mapping[str, Any]) -> OneFileBackend:
        return OneFileBackend(OneFileStore.create(Path(address), settings))

    def open(self, address: str) -> OneFileBackend:
        return OneFileBackend(OneFileStore.open(Path(address)))


FACTORY = OneFileFactory()
