"""The one-file backend, words only: FTS5 gives the posting lists, Assay scores them; there is no other index."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from assay.backend.contract import NO_GRAPH, NO_TREE, Check, ErasureReport
from assay.backend.shared.postings_bm25 import LiveRows, Posting
from assay.backend.shared.postings_snapshot import PostingsSnapshot, RowCache
from assay.backend.sqlite.filters import OWN_KINDS, condition
from assay.backend.sqlite.store import OneFileStore
from assay.errors import Reason, StoreError
from assay.index.similarity import Bm25Similarity
from assay.protocols import Matches
from assay.store.backup_file import restore_backup
from assay.store.damage import accept_state, check_live
from assay.store.db_errors import translate_errors
from assay.store.erase import erase_rows, shrink
from assay.store.rows import ChunkRow
from assay.store.validation import check_version, rows_forgotten_error
from assay.text.term_encoding import encode_term
from assay.types import Chunk, Floats, Progress, Query, Rows, Vector, Vectors
from assay.where import Compare, Filter

NO_VECTORS = Reason(
    "a one-file store searches words only",
    "keep it in a folder (--store ./kb): assay copy ./kb, then assay reembed --store ./kb",
)
_MOST_POSTINGS = 2_000_000
"""Entries of posting lists that are cached between two writes: 32 MB."""


@dataclass
class _FileView:
    """What has been read of the file: every row's length and digest, cached posting lists by term."""

    seqs: Rows
    lengths: Floats
    marks: bytes
    postings: dict[str, Posting] = field(default_factory=dict)
    cached_postings: int = 0


def _empty_view() -> _FileView:
    return _FileView(np.empty(0, np.int64), np.empty(0), b"")


class OneFileSnapshot(PostingsSnapshot):
    """Rows inserted up to a version and not deleted by it; later writes do not change it."""

    all_first = True
    store_wide = frozenset({"_kinds"})

    def __init__(self, store: OneFileStore, version: int, known: _FileView, dead: Rows, cache: RowCache) -> None:
        alive = known.seqs <= store.last_seq(version)
        alive[np.searchsorted(known.seqs, dead)] = False
        marks = np.frombuffer(known.marks, "V16")[alive].tobytes()
        similarity = Bm25Similarity.from_settings(store.settings)
        live = LiveRows(known.seqs[alive], known.lengths[alive], similarity)
        super().__init__(version, live, marks, store.analyser, "")
        self._store, self._known, self._cache = store, known, cache

    @property
    def capabilities(self) -> frozenset[str]:
        return frozenset({"lexical", "exact"})

    def lacks(self, capability: str) -> Reason | None:
        if capability in self.capabilities:
            return None
        return {"dense": NO_VECTORS, "graph": NO_GRAPH, "tree": NO_TREE}.get(
            capability, Reason(f"a one-file store cannot do {capability!r}")
        )

    def nearest(self, query: Query, k: int) -> Matches:
        raise NO_VECTORS.as_error(StoreError)

    def vectors(self, rows: Rows) -> Vectors:
        return np.zeros((len(rows), 1), np.float32)

    def postings(self, terms: Sequence[str]) -> list[Posting]:
        return [self._posting(term) for term in terms]

    def _posting(self, term: str) -> Posting:
        known = self._known
        posting = known.postings.get(term)
        if posting is None:
            with translate_errors(self._store.place):
                # All occurrences of the term as one text: parsing it is faster than fetching them as rows.
                (occurrences,) = self._store.db.execute(
                    "SELECT group_concat(doc) FROM place WHERE term = ?", (encode_term(term),)
                ).fetchone()
            rows, counts = np.unique(np.fromstring(occurrences or "", np.int64, sep=","), return_counts=True)
            posting = rows, np.minimum(counts, 65_535).astype(np.float64)
            if known.cached_postings > _MOST_POSTINGS:
                known.postings, known.cached_postings = {}, 0
            known.postings[term] = posting
            known.cached_postings += len(rows)
        return posting

    def rows_passing(self, where: Filter | None, at: float | None, scope: str | None) -> Rows:
        tests = [] if where is None else [condition(where, self.kinds())]
        if at is not None:
            tests.append(("chunk.created IS NULL OR chunk.created <= ?", [at]))  # the undated are never hidden
        if scope is not None:
            in_scope = Compare("scope", "=", scope)
            tests.append(condition(in_scope, self.kinds()) if "text" in self.kinds().get("scope", ()) else ("0", []))
        sql = " AND ".join(f"({test})" for test, _ in tests) or "1"
        rows = self._select(
            f"SELECT chunk.seq FROM chunk JOIN doc USING (seq) WHERE {sql} ORDER BY chunk.seq",
            [value for _, values in tests for value in values],
        )
        return np.array([row[0] for row in rows], np.int64)

    def read_rows(self, seqs: Sequence[int]) -> list[ChunkRow]:
        return self._cache.get(seqs, self._store)

    def rows_by_id(self, ids: Sequence[str]) -> dict[str, int]:
        rows: dict[str, int] = {}
        for name in ids:
            if _has_lone_surrogate(name):
                continue
            for (seq,) in self._select(
                "SELECT seq FROM chunk WHERE id = ?1 AND died IS NULL AND born <= ?2 UNION ALL "
                "SELECT seq FROM chunk INDEXED BY dead WHERE died > ?2 AND id = ?1 AND born <= ?2",
                (name, self.version),
            ):
                rows[name] = seq
        return rows

    def read_ids(self, seqs: Sequence[int]) -> list[str]:
        ids: dict[int, str] = {}
        for start in range(0, len(seqs), 500):
            part = list(seqs[start : start + 500])
            ids.update(self._select(f"SELECT seq, id FROM chunk WHERE seq IN ({','.join('?' * len(part))})", part))
        try:
            return [ids[seq] for seq in seqs]
        except KeyError:
            raise rows_forgotten_error(self._store.place) from None

    def ids_with_prefix(self, prefix: str, most: int = 20) -> list[str]:
        if _has_lone_surrogate(prefix):
            return []
        rows = self._select(
            "SELECT id FROM chunk WHERE born <= ?1 AND (died IS NULL OR died > ?1) AND substr(id, 1, ?2) = ?3 "
            "ORDER BY id LIMIT ?4",
            (self.version, len(prefix), prefix, most),
        )
        return [name for (name,) in rows]

    def kinds(self) -> dict[str, set[str]]:
        return {name: set(kinds) for name, kinds in self._kinds.items()}

    @cached_property
    def _kinds(self) -> dict[str, set[str]]:
        kinds: dict[str, set[str]] = {name: {kind} for name, kind in OWN_KINDS.items()}
        for name, kind in self._select("SELECT name, kind FROM field", ()):
            if name not in OWN_KINDS:
                kinds.setdefault(name, set()).add(kind)
        return kinds

    def _select(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        with translate_errors(self._store.place):
            return self._store.db.execute(sql, values).fetchall()


def _has_lone_surrogate(text: str) -> bool:
    """Whether a text holds a lone surrogate; no id in a store does."""
    return any("\ud800" <= c <= "\udfff" for c in text)


class OneFileBackend:
    """Implements `contract.StoreBackend` over one file. Safe for threads; processes may share the file."""

    def __init__(self, store: OneFileStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._cache = RowCache()
        self._known = _empty_view()
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
                self._known = self._refresh()
                current = self._view(version, self._known)
                check_live(self._store, self._store.setting("live"), current.size)
                self._current = current
        return self._current

    def _refresh(self) -> _FileView:
        """The cached view extended by the rows committed since, by this process or another."""
        known, db = self._known, self._store.db
        since = int(known.seqs[-1]) if len(known.seqs) else 0
        if db.execute("SELECT count(*) FROM doc WHERE seq <= ?", (since,)).fetchone() != (len(known.seqs),):
            known, since = _empty_view(), 0  # another process erased rows that the view names
            self._cache.clear()
        new_rows = db.execute("SELECT seq, terms, facts FROM doc WHERE seq > ? ORDER BY seq", (since,)).fetchall()
        return _FileView(
            np.concatenate([known.seqs, np.array([row[0] for row in new_rows], np.int64)]),
            np.concatenate([known.lengths, np.array([row[1] for row in new_rows], np.float64)]),
            known.marks + b"".join([row[2] for row in new_rows]),
        )

    def _view(self, version: int, known: _FileView) -> OneFileSnapshot:
        with translate_errors(self._store.place):
            rows = self._store.db.execute(
                "SELECT seq FROM chunk INDEXED BY dead WHERE died <= ? ORDER BY seq", (version,)
            )
            dead = np.array([row[0] for row in rows], np.int64)
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
        self._clear_caches()
        self.compact(progress, force=True)
        shrink(self._store.db, gone)
        return gone

    def erase(self, doc_ids: Sequence[str], note: str) -> ErasureReport:
        report = ErasureReport()
        erase_rows(self._store, doc_ids, note, report.erased, report.unreached, before=self._store.merge_words)
        self._clear_caches()
        return report

    def _clear_caches(self) -> None:
        """Drop what was read: it may name rows that are gone."""
        with self._lock:
            self._cache.clear()
            self._current = None
            self._known = _empty_view()

    def health(self) -> list[Check]:
        return []

    def sweep(self) -> int:
        return 0

    def close(self) -> None:
        self._clear_caches()
        self._store.close()


class OneFileFactory:
    """Implements `contract.RestoringFactory` for paths of files."""

    no_vectors = NO_VECTORS

    def exists(self, address: str) -> bool:
        return OneFileStore.exists(Path(address))

    def create(self, address: str, settings: Mapping[str, Any]) -> OneFileBackend:
        return OneFileBackend(OneFileStore.create(Path(address), settings))

    def restore(self, source: Path, address: str, progress: Progress) -> OneFileBackend:
        return OneFileBackend(restore_backup(OneFileStore, source, Path(address), progress))

    def accept(self, address: str) -> int:
        return accept_state(OneFileStore.database(Path(address)))

    def open(self, address: str) -> OneFileBackend:
        return OneFileBackend(OneFileStore.open(Path(address)))


FACTORY = OneFileFactory()
