"""The team's backend: snapshots for readers, transactions for writers, upkeep of the server's indexes."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from assay.backend.contract import Check, Erased
from assay.backend.postgres import graph_pages, textsearch, upkeep
from assay.backend.postgres.graph_cache import GraphCache
from assay.backend.postgres.health import health
from assay.backend.postgres.hnsw import INDEX_FROM, index_name
from assay.backend.postgres.server import ServerInfo, examined
from assay.backend.postgres.snapshot import PostgresSnapshot
from assay.backend.postgres.store import PostgresStore
from assay.backend.postgres.version_view import ColumnNames, VersionView
from assay.backend.shared.limits import COMPACT_FROM, MOST_TAIL
from assay.errors import StoreError
from assay.store.validation import check_unit, check_version, embedded_anew
from assay.types import Chunk, Progress, Vector

_STATE = """
SELECT (SELECT max(number) FROM version), (SELECT value FROM setting WHERE key = 'model'), {},
  (SELECT indexrelid::text || '.' || pg_relation_filenode(indexrelid) FROM pg_index
   WHERE indexrelid = to_regclass(%s) AND indisvalid),
  (SELECT value FROM setting WHERE key = 'analyser'), {}
"""


@dataclass(frozen=True, slots=True)
class _State:
    """The newest version, what its indexes are, and which erasure was the last: a snapshot is of one of them."""

    newest: int
    index: str
    """The identity of the vectors' index, "" where there is none."""
    textsearch: bool
    base: int | None
    """The version that walks go by; None before the first upkeep."""
    erasures: int


class PostgresBackend:
    """Implements `kept.KeptBackend`. One per process and store; safe for threads."""

    def __init__(self, store: PostgresStore, no_vectors: str, *, index_from: int = INDEX_FROM) -> None:
        self.store = store
        self._no_vectors = no_vectors
        self._index_from = index_from
        self._names = ColumnNames()
        self._lock = threading.Lock()
        self._current: PostgresSnapshot | None = None
        self._stamp: _State | None = None
        self._graphs = GraphCache(store)

    # -- reading

    def snapshot(self, version: int | None = None) -> PostgresSnapshot:
        """The newest state, or the store as it was at a version."""
        state = self._state()
        if version is not None and version != state.newest:
            check_version(version, self.store.oldest(), state.newest)
            return self._view(version, state)
        with self._lock:
            if self._current is None or self._stamp != state:
                self._current = self._view(state.newest, state)
                self._stamp = state
            return self._current

    def _state(self) -> _State:
        table = self.store.settings.get("vectors") or "nothing"
        graph = "NULL::bigint, 0" if self.store.no_graph else "(SELECT base FROM graph), (SELECT erasures FROM graph)"
        statement = _STATE.format(textsearch.PRESENT, graph)
        found = self.store.read(lambda db: db.execute(statement, (index_name(table),)).fetchone())
        assert found is not None
        if json.loads(found[1]) != self.store.settings["model"]:
            raise embedded_anew(self.store.address)
        self.store.settings["analyser"] = json.loads(found[4])  # another release may have analysed it anew
        return _State(int(found[0]), found[3] or "", bool(found[2]), found[5], found[6])

    def _view(self, version: int, state: _State) -> PostgresSnapshot:
        base = state.base if state.base is None else min(state.base, version)
        return PostgresSnapshot(
            VersionView(self.store, version, self._names, state.textsearch),
            self._no_vectors,
            self._graphs,
            base=base,
            index=state.index,
            index_from=self._index_from,
        )

    # -- writing

    def put(self, items: Iterable[tuple[Chunk, Vector | None]], origin: str = "") -> int:
        """Add or replace chunks by id, all of them or none; the version from which they are there."""
        dim = self.store.settings["dim"]
        given = [(chunk, check_unit(chunk.id, vector, dim)) for chunk, vector in items]
        with self.store.write("put") as writer:
            writer.put_all(given, origin)
        return writer.version if writer.changed else self.store.version()

    def remove(self, ids: Iterable[str]) -> int:
        """Delete chunks by id; the version from which they are gone."""
        with self.store.write("remove") as writer:
            for name in ids:
                writer.remove_chunk(name)
        return writer.version if writer.changed else self.store.version()

    # -- upkeep

    no_vectors = ""

    @property
    def pending(self) -> int:
        """Rows that the next `compact` would index or analyse, or that walks would begin to go by; the server keeps
        step with everything else by itself."""
        return max(self._unindexed(), self._changes())

    @property
    def due(self) -> bool:
        return self._unindexed() > 0 or self._changes() >= COMPACT_FROM

    def _unindexed(self) -> int:
        """Rows whose words are to be analysed anew, or whose vectors are many enough for an index."""
        state = self._state()
        if upkeep.is_outdated(self.store):
            return self._view(state.newest, state).size
        size = 0 if state.index or not self.store.settings["dim"] else self._view(state.newest, state).size
        return size if size >= self._index_from else 0

    def _changes(self) -> int:
        return 0 if self.store.no_graph else self.store.read(graph_pages.changes)

    @property
    def wants_index(self) -> bool:
        return False

    def index(self) -> dict[str, Any]:
        """What the server's indexes say of themselves; words are always in step, vectors once there are enough."""
        state = self._state()
        near = f"vectors by HNSW in half precision ({index_name(self.store.settings['vectors'])})"
        kinds = ["words by GIN (holding)", *([near] if state.index else [])]
        waiting = [f"{many:,} to be indexed" for many in (self._unindexed(),) if many]
        return {
            "name": ", ".join(kinds),
            "version": state.newest,
            "chunks": self.snapshot().size,
            "waiting": "; ".join([*waiting, self.graph_said()]),
        }

    def graph_said(self) -> str:
        """What graph the database holds, in words."""
        if not self._uses_graph:
            return (
                f"no graph: {self.store.no_graph.partition('; cure: ')[0]}" if self.store.no_graph else "no graph yet"
            )
        changes = self.graph_behind
        since = "1 change" if changes == 1 else f"{changes:,} changes"
        return f"graph as of v{self._graphs.kept().base}, {since} since"

    @property
    def graph_behind(self) -> int:
        """Chunks born and dead since the graph was built; 0 where there is none."""
        return self._changes() if self._uses_graph else 0

    @property
    def _uses_graph(self) -> bool:
        return not self.store.no_graph and bool(self._graphs.kept().made)

    def server(self) -> ServerInfo:
        return self.store.read(examined)

    def sizes(self) -> dict[str, int]:
        return self.store.sizes()

    def compact(self, progress: Progress = lambda *_: None, force: bool = False) -> bool:
        """Build what is missing; False when nothing was. `force` also does what the server would do in time."""
        if self.store.readonly:
            return False
        outdated = upkeep.is_outdated(self.store)
        if outdated:
            upkeep.analyse_anew(self.store, progress)
        built = upkeep.build_index(self.store, self._index_from, progress)
        with self.store.alone() as db:
            built = textsearch.build(db) or built
        built = self._renewed(progress, force) or built
        if outdated or built or force:
            upkeep.settle(self.store)
        return outdated or built or force

    def forget(self, version: int, progress: Progress = lambda *_: None) -> int:
        """Erase what was already dead at a version; older snapshots are gone for good. How many rows.

        The graph is brought into step first: it must not know what is about to vanish (law 10)."""
        self._renewed(progress, force=False)
        with self.store.write(f"forget before v{version}") as writer:
            gone = writer.forget_dead(version)
        upkeep.sweep(self.store)
        return gone

    def erase(self, doc_ids: Sequence[str], note: str) -> Erased:
        """Remove every row of documents from all versions and indexes, and their words from the list of terms. The
        graph, which knows their names, goes with them; where there was one, another is built without them."""
        used = self._uses_graph
        with self.store.write(note) as writer:
            gone = writer.erase(doc_ids)
        upkeep.sweep(self.store)
        kept = ["the server's write-ahead log, replicas and backups keep them until they are recycled"]
        if gone and used:
            self._walked_again()
            kept.append("other processes that walked the graph hold its names in memory until they walk again")
        rows = "1 row" if gone == 1 else f"{gone:,} rows"
        return Erased(
            [f"{self.store.address}: {rows} of all versions, swept out of tables and indexes"],
            kept,
        )

    def _walked_again(self) -> None:
        """Build the graph anew; where that cannot be now, the next walk does."""
        with contextlib.suppress(StoreError):
            self._graphs.get(self._graphs.kept().base)

    # -- the graph

    def _renewed(self, progress: Progress, force: bool) -> bool:
        return not self.store.no_graph and self._graphs.renew(progress, force)

    @property
    def graph_due(self) -> bool:
        if self.store.no_graph or self._graphs.is_made(self._graphs.kept()):
            return False
        return self.snapshot().size > MOST_TAIL

    def build_graph(self, progress: Progress = lambda *_: None) -> int:
        """Build the graph now, instead of for the first question, and put it into the database; how many chunks it
        covers. 0 when there has been no upkeep yet and the store is small: then a graph costs nothing."""
        if self.store.no_graph:
            raise StoreError(*self.store.no_graph.split("; cure: "))
        state = self._state()
        base = state.newest if state.base is None and self.snapshot().size > MOST_TAIL else state.base
        return len(self._graphs.get(base, progress))

    def health(self) -> list[Check]:
        return health(self)

    def sweep(self) -> int:
        return 0

    def close(self) -> None:
        self._current = None
        self.store.close()
