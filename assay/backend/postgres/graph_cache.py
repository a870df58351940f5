"""Caches the graphs a process has open: loaded from the database, or built and saved there; each with its tail."""

from __future__ import annotations

import contextlib
import tempfile
import threading
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import overload

import numpy as np

from assay.backend.postgres import graph_pages
from assay.backend.postgres.connections import LOCK_TIMEOUT
from assay.backend.postgres.graph_build import build_graph_files
from assay.backend.postgres.graph_pages import StoredGraph, graph_kind
from assay.backend.postgres.store import PostgresStore
from assay.errors import StoreBusy, StoreError
from assay.index.graph import GraphIndex
from assay.index.tail_graph import TailGraph
from assay.types import Chunk, Progress, Rows
from assay.where import Mask

_MAX_GRAPHS = 3
"""Graphs that a process caches: the newest, and those of two older versions."""
_BUILD_TIMEOUT = 600  # seconds to wait while another process builds
_BATCH = 500


class CachedGraph:
    """One graph in memory. Rows 0 … G−1 are those of the base, in id order; then come those of the tail."""

    def __init__(self, store: PostgresStore, base: int | None, erasures: int, folder: Path | None) -> None:
        self.base, self.erasures = base, erasures
        self.index = None if folder is None else GraphIndex(folder / "graph")
        self._seqs = np.empty(0, np.int64) if folder is None else np.fromfile(folder / "seqs", "<i8")
        self._order = np.argsort(self._seqs)
        self._sorted = self._seqs[self._order]
        self.last = int(self._seqs.max(initial=0))
        """The largest seq of the base."""
        self.tail = TailGraph(self.index, store.analyser.language)
        self._lock = threading.Lock()
        self._new: list[int] = []
        self._places: dict[int, int] = {}
        self.chunks = _TailChunks(store, self._new)

    def __len__(self) -> int:
        """Rows of the base."""
        return len(self._seqs)

    def add_tail_rows(self, seqs: Rows) -> Mask:
        """Add rows to the tail where it lacks them; returns the mask of these rows over the whole tail."""
        with self._lock:
            for seq in seqs.tolist():
                if seq not in self._places:
                    self._places[seq] = len(self._new)
                    self._new.append(seq)
            live = np.zeros(len(self._new), np.bool_)
            live[[self._places[seq] for seq in seqs.tolist()]] = True
            return live

    def rows_of(self, seqs: Rows) -> Rows:
        """Graph rows of the store's seqs; unknown ones are left out."""
        old = seqs <= self.last
        place = np.minimum(np.searchsorted(self._sorted, seqs), max(len(self) - 1, 0))
        rows = np.full(len(seqs), -1, np.int64)
        if len(self):
            rows[old] = np.where(self._sorted[place] == seqs, self._order[place], -1)[old]
        new = np.flatnonzero(~old)
        rows[new] = [self._places.get(seq, -1 - len(self)) + len(self) for seq in seqs[new].tolist()]
        return rows[rows >= 0]

    def seqs_of(self, rows: Rows) -> Rows:
        """The store's seqs of graph rows."""
        seqs = np.empty(len(rows), np.int64)
        old = rows < len(self)
        seqs[old] = self._seqs[rows[old]]
        seqs[~old] = [self._new[row - len(self)] for row in rows[~old].tolist()]
        return seqs


class _TailChunks(Sequence[Chunk]):
    """The chunks of a tail, read in batches and not cached: each is needed once."""

    def __init__(self, store: PostgresStore, seqs: Sequence[int]) -> None:
        self._store, self._seqs = store, seqs
        self._read: tuple[int, list[Chunk]] = (0, [])

    def __len__(self) -> int:
        return len(self._seqs)

    @overload
    def __getitem__(self, place: int) -> Chunk: ...
    @overload
    def __getitem__(self, place: slice) -> list[Chunk]: ...
    def __getitem__(self, place: int | slice) -> Chunk | list[Chunk]:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        first, read = self._read
        if not first <= place < first + len(read):
            first = place
            read = [row.chunk for row in self._store.rows(self._seqs[place : place + _BATCH])]
            self._read = (first, read)
        return read[place - first]


class GraphCache:
    """Safe for threads; each graph is loaded or built by one thread while the others wait."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store
        self._kind = graph_kind(store.analyser)
        self._lock = threading.Lock()
        self._cached: dict[int | None, CachedGraph] = {}
        self._build_locks: dict[int | None, threading.Lock] = defaultdict(threading.Lock)

    def read_stored(self) -> StoredGraph:
        return self._store.read(graph_pages.read_stored_graph)

    def is_usable(self, stored: StoredGraph) -> bool:
        """Does the database hold a graph made by our rules?"""
        return bool(stored.made) and stored.kind == self._kind

    def get(self, base: int | None, progress: Progress = lambda *_: None) -> CachedGraph:
        """The graph of the chunks alive at a version (None: of none, all is tail), as it is after the last erasure."""
        with self._lock:
            build_lock = self._build_locks[base]
        with build_lock:
            stored, graph = self.read_stored(), self._cached.get(base)
            if graph is None or graph.erasures != stored.erasures:
                graph = self._open(base, stored, progress)
            self._cache(graph)
            return graph

    def refresh(self, progress: Progress, force: bool) -> bool:
        """Rebuild the graph for the newest version, if there is one; False when nothing was built, or when another
        process builds it. StoreError when it could not be saved: the old one stays."""
        stored, newest = self.read_stored(), self._store.version()
        if not stored.made:
            with self._store.derived_transaction() as db:
                graph_pages.move_base(db)
            return False
        if stored.base == newest and self.is_usable(stored) and not force:
            return False
        with self._build_lock(0) as is_ours:
            if is_ours:
                self._cache(self._build(newest, self.read_stored(), progress, self._save))
            return is_ours

    def _cache(self, graph: CachedGraph) -> None:
        with self._lock:
            fresh = {
                base: one for base, one in self._cached.items() if one.erasures == graph.erasures and base != graph.base
            }
            fresh[graph.base] = graph
            self._cached = dict(list(fresh.items())[-_MAX_GRAPHS:])  # graphs that know erased rows go at once

    def _open(self, base: int | None, stored: StoredGraph, progress: Progress) -> CachedGraph:
        if base is None:
            return CachedGraph(self._store, None, stored.erasures, None)
        loaded = self._load(base, stored)
        if loaded is not None:
            return loaded
        if self._store.readonly or base not in (stored.base, self._store.version()):
            return self._build(base, stored, progress, lambda *_: None)
        with self._build_lock(_BUILD_TIMEOUT):
            stored = self.read_stored()
            return self._load(base, stored) or self._build(base, stored, progress, self._try_to_save)

    def _load(self, base: int, stored: StoredGraph) -> CachedGraph | None:
        """The graph from the database; None if it has another one, or not all of its pages."""
        if stored.base != base or not self.is_usable(stored):
            return None

        with _temporary_folder() as folder:
            if self._store.read(lambda db: graph_pages.load_pages(db, stored.made, folder)):
                with contextlib.suppress(OSError, ValueError):
                    return CachedGraph(self._store, base, stored.erasures, folder)
        return None

    def _build(
        self, base: int, stored: StoredGraph, progress: Progress, save: Callable[[Path, StoredGraph], None]
    ) -> CachedGraph:
        """Build the graph of a version and save it for other processes."""
        with _temporary_folder() as folder:
            build_graph_files(self._store, base, folder, progress)
            graph = CachedGraph(self._store, base, stored.erasures, folder)
            save(folder, StoredGraph(base, graph.last, self._kind, str(uuid.uuid4()), stored.erasures))
            if self.read_stored().erasures != stored.erasures:
                raise StoreBusy(f"{self._store.address}: chunks were erased while their graph was built", "ask again")
            return graph

    def _save(self, folder: Path, graph: StoredGraph) -> None:
        """Save a graph to the database, for every process and machine."""
        with self._store.derived_transaction() as db:
            if not graph_pages.save_pages(db, folder, graph):
                raise StoreBusy(f"{self._store.address} changed under the graph that was being built", "try again")

    def _try_to_save(self, folder: Path, graph: StoredGraph) -> None:
        """Save a graph; where that fails (a busy server, a newer graph there), this process uses its own copy."""
        with contextlib.suppress(StoreError):
            self._save(folder, graph)

    @contextlib.contextmanager
    def _build_lock(self, patience: int) -> Iterator[bool]:
        """Hold the advisory lock of graph builders. Without `patience` (seconds) yields False if another process holds
        it, else waits. It is released at the end, or when the connection ends. No transaction is open meanwhile."""
        name = (f"assay/{self._store.schema}/graph",)
        with self._store.autocommit() as db:
            row = db.execute("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", name).fetchone()
            is_ours = bool(row and row[0])
            if not is_ours and patience:
                db.execute(f"SET lock_timeout TO '{patience}s'")
                try:
                    db.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", name)
                finally:
                    if not db.closed:
                        db.execute(f"SET lock_timeout TO '{LOCK_TIMEOUT}s'")
                is_ours = True
            try:
                yield is_ours
            finally:
                if is_ours and not db.closed:
                    db.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", name)


@contextlib.contextmanager
def _temporary_folder() -> Iterator[Path]:
    """A folder for the files of a graph. It is unlinked after the block: a process that mapped them keeps them, and
    nothing is left when it is killed."""
    with tempfile.TemporaryDirectory(prefix="assay-graph-") as folder:
        yield Path(folder)
