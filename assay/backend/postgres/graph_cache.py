"""The graphs that a process has open: copied from the database, or built and put there; each with its tail."""

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
from assay.backend.postgres.connections import LOCK_PATIENCE
from assay.backend.postgres.graph_build import make
from assay.backend.postgres.graph_pages import StoredGraph, kind_of
from assay.backend.postgres.store import PostgresStore
from assay.errors import StoreBusy, StoreError
from assay.index.graph import GraphIndex
from assay.index.tail_graph import TailGraph
from assay.types import Chunk, Progress, Rows
from assay.where import Mask

_MOST = 3
"""Graphs that a process holds: the newest, and those of two older moments."""
_PATIENCE = 600  # seconds to wait while another process builds
_BATCH = 500


class CachedGraph:
    """One graph as a process has it. Rows 0 … G−1 are those of the base, in id order; then come those of the tail."""

    def __init__(self, store: PostgresStore, base: int | None, erasures: int, folder: Path | None) -> None:
        self.base, self.erasures = base, erasures
        self.index = None if folder is None else GraphIndex(folder / "graph")
        self._seqs = np.empty(0, np.int64) if folder is None else np.fromfile(folder / "seqs", "<i8")
        self._order = np.argsort(self._seqs)
        self._sorted = self._seqs[self._order]
        self.last = int(self._seqs.max(initial=0))
        """No row behind this one is in the base."""
        self.tail = TailGraph(self.index, store.analyser.language)
        self._lock = threading.Lock()
        self._new: list[int] = []
        self._places: dict[int, int] = {}
        self.chunks = _Chunks(store, self._new)

    def __len__(self) -> int:
        """Rows of the base."""
        return len(self._seqs)

    def take_in(self, seqs: Rows) -> Mask:
        """The tail must know these rows; which of all its rows they are."""
        with self._lock:
            for seq in seqs.tolist():
                if seq not in self._places:
                    self._places[seq] = len(self._new)
                    self._new.append(seq)
            live = np.zeros(len(self._new), np.bool_)
            live[[self._places[seq] for seq in seqs.tolist()]] = True
            return live

    def rows_of(self, seqs: Rows) -> Rows:
        """Where the store's rows stand here; those it does not know are left out."""
        old = seqs <= self.last
        place = np.minimum(np.searchsorted(self._sorted, seqs), max(len(self) - 1, 0))
        rows = np.full(len(seqs), -1, np.int64)
        if len(self):
            rows[old] = np.where(self._sorted[place] == seqs, self._order[place], -1)[old]
        new = np.flatnonzero(~old)
        rows[new] = [self._places.get(seq, -1 - len(self)) + len(self) for seq in seqs[new].tolist()]
        return rows[rows >= 0]

    def seqs_of(self, rows: Rows) -> Rows:
        """The store's rows that stand here."""
        found = np.empty(len(rows), np.int64)
        old = rows < len(self)
        found[old] = self._seqs[rows[old]]
        found[~old] = [self._new[row - len(self)] for row in rows[~old].tolist()]
        return found


class _Chunks(Sequence[Chunk]):
    """The chunks of a tail, read some at a time and not kept: they are looked at once."""

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
    """Safe for threads; each graph is loaded or built by one of them while the others wait."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store
        self._kind = kind_of(store.analyser)
        self._lock = threading.Lock()
        self._held: dict[int | None, CachedGraph] = {}
        self._turns: dict[int | None, threading.Lock] = defaultdict(threading.Lock)

    def kept(self) -> StoredGraph:
        return self._store.read(graph_pages.kept)

    def is_made(self, kept: StoredGraph) -> bool:
        """Is there one that we can use?"""
        return bool(kept.made) and kept.kind == self._kind

    def get(self, base: int | None, progress: Progress = lambda *_: None) -> CachedGraph:
        """The graph of the chunks alive at a version (None: of none, all is tail), as it is after the last erasure."""
        with self._lock:
            turn = self._turns[base]
        with turn:
            kept, held = self.kept(), self._held.get(base)
            if held is None or held.erasures != kept.erasures:
                held = self._opened(base, kept, progress)
            self._hold(held)
            return held

    def renew(self, progress: Progress, force: bool) -> bool:
        """Bring the graph into step with the newest version, if anybody uses one; False when nothing was built, or
        another process is at it. StoreError when it could not be kept: the old one is there still."""
        kept, newest = self.kept(), self._store.version()
        if not kept.made:
            with self._store.aside() as db:
                graph_pages.move(db)
            return False
        if kept.base == newest and self.is_made(kept) and not force:
            return False
        with self._only_one(0) as mine:
            if mine:
                self._hold(self._built(newest, self.kept(), progress, self._save))
            return mine

    def _hold(self, held: CachedGraph) -> None:
        with self._lock:
            fresh = {
                base: one for base, one in self._held.items() if one.erasures == held.erasures and base != held.base
            }
            fresh[held.base] = held
            self._held = dict(list(fresh.items())[-_MOST:])  # who knew the erased goes at once

    def _opened(self, base: int | None, kept: StoredGraph, progress: Progress) -> CachedGraph:
        if base is None:
            return CachedGraph(self._store, None, kept.erasures, None)
        found = self._loaded(base, kept)
        if found is not None:
            return found
        if self._store.readonly or base not in (kept.base, self._store.version()):
            return self._built(base, kept, progress, lambda *_: None)
        with self._only_one(_PATIENCE):
            kept = self.kept()
            return self._loaded(base, kept) or self._built(base, kept, progress, self._try_to_save)

    def _loaded(self, base: int, kept: StoredGraph) -> CachedGraph | None:
        """The graph as the database has it, if it has this one, whole."""
        if kept.base != base or not self.is_made(kept):
            return None

        with _folder() as folder:
            if self._store.read(lambda db: graph_pages.load(db, kept.made, folder)):
                with contextlib.suppress(OSError, ValueError):
                    return CachedGraph(self._store, base, kept.erasures, folder)
        return None

    def _built(
        self, base: int, kept: StoredGraph, progress: Progress, save: Callable[[Path, StoredGraph], None]
    ) -> CachedGraph:
        """The graph of a version, built now, and saved for the others."""
        with _folder() as folder:
            make(self._store, base, folder, progress)
            held = CachedGraph(self._store, base, kept.erasures, folder)
            save(folder, StoredGraph(base, held.last, self._kind, str(uuid.uuid4()), kept.erasures))
            if self.kept().erasures != kept.erasures:
                raise StoreBusy(f"{self._store.address}: chunks were erased while their graph was built", "ask again")
            return held

    def _save(self, folder: Path, made: StoredGraph) -> None:
        """Put it into the database, for every process and machine."""
        with self._store.aside() as db:
            if not graph_pages.save(db, folder, made):
                raise StoreBusy(f"{self._store.address} changed under the graph that was being built", "try again")

    def _try_to_save(self, folder: Path, made: StoredGraph) -> None:
        """Where it cannot be kept (a busy server, a newer one there), this process walks its own copy."""
        with contextlib.suppress(StoreError):
            self._save(folder, made)

    @contextlib.contextmanager
    def _only_one(self, patience: int) -> Iterator[bool]:
        """True for the one process that may build; who has no patience is told False, who has waits. The turn is given
        back at the end, or when the connection ends. No transaction is open meanwhile."""
        name = (f"assay/{self._store.schema}/graph",)
        with self._store.alone() as db:
            row = db.execute("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", name).fetchone()
            mine = bool(row and row[0])
            if not mine and patience:
                db.execute(f"SET lock_timeout TO '{patience}s'")
                try:
                    db.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", name)
                finally:
                    if not db.closed:
                        db.execute(f"SET lock_timeout TO '{LOCK_PATIENCE}s'")
                mine = True
            try:
                yield mine
            finally:
                if mine and not db.closed:
                    db.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", name)


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    """A folder for the files of a graph. They lose their names with the block: who mapped them has them for as long as
    he lives, and nothing is left of it when he is killed."""
    with tempfile.TemporaryDirectory(prefix="assay-graph-") as folder:
        yield Path(folder)
