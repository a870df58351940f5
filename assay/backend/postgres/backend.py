"""The PostgreSQL backend: snapshots for readers, transactions for writers, upkeep of the server's indexes."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from assay.backend.contract import Check, ErasureReport
from assay.backend.postgres import graph_pages, textsearch, upkeep
from assay.backend.postgres.graph_cache import GraphCache
from assay.backend.postgres.health import ServerInfo, examine_server, health
from assay.backend.postgres.hnsw import INDEX_FROM, index_name
from assay.backend.postgres.snapshot import PostgresSnapshot
from assay.backend.postgres.store import PostgresStore
from assay.backend.postgres.version_view import IdCache, VersionView
from assay.backend.shared.limits import COMPACT_FROM, MOST_TAIL
from assay.errors import Reason, StoreError
from assay.store.validation import check_unit_vector, check_version, model_changed_error
from assay.types import Chunk, Progress, Vector

_STATE = """
SELECT (SELECT max(number) FROM version), (SELECT value FROM setting WHERE key = 'model'), {},
  (SELECT indexrelid::text || '.' || pg_relation_filenode(indexrelid) FROM pg_index
   WHERE indexrelid = to_regclass(%s) AND indisvalid),
  (SELECT value FROM setting WHERE key = 'analyser'), {}
"""


@dataclass(frozen=True, slots=True)
class ServerState:
    """What a snapshot depends on: the newest version, its indexes, and the number of erasures."""

    newest: int
    index: str
    """The identity of the vectors' index, "" where there is none."""
    textsearch: bool
    base: int | None
    """The version of the graph's statistics; None before the first upkeep."""
    erasures: int


class PostgresBackend:
    """Implements `contract.StoreBackend`. One per process and store; safe for threads."""

    def __init__(self, store: PostgresStore, no_vectors: Reason, *, index_from: int = INDEX_FROM) -> None:
        self.store = store
        self._no_vectors = no_vectors
        self._index_from = index_from
        self._names = IdCache()
        self._lock = threading.Lock()
        self._current: PostgresSnapshot | None = None
        self._stamp: ServerState | None = None
        self._graphs = GraphCache(store)

    # -- reading

    def snapshot(self, version: int | None = None) -> PostgresSnapshot:
        """The newest state, or the store as it was at a version."""
        state = self._state()
        if version is not None and version != state.newest:
            self._check_version(version, state)
            return self._open_view(version, state)
        with self._lock:
            if self._current is None or self._stamp != state:
                self._current = self._open_view(state.newest, state)
                self._stamp = state
            return self._current

    def _check_version(self, version: int, state: ServerState) -> None:
        check_version(version, self.store.oldest(), state.newest)

    def _state(self) -> ServerState:
        table = self.store.settings.get("vectors") or "nothing"
        graph = "NULL::bigint, 0" if self.store.no_graph else "(SELECT base FROM graph), (SELECT erasures FROM graph)"
        statement = _STATE.format(textsearch.PRESENT, graph)
        row = self.store.read(lambda db: db.execute(statement, (index_name(table),)).fetchone())
        assert row is not None
        if json.loads(row[1]) != self.store.settings["model"]:
            raise model_changed_error(self.store.address)
        self.store.settings["analyser"] = json.loads(row[4])  # another release may have reanalysed it
        return ServerState(int(row[0]), row[3] or "", bool(row[2]), row[5], row[6])

    def _open_view(self, version: int, state: ServerState) -> PostgresSnapshot:
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
        """Add or replace chunks by id, all or none; returns the version that has them."""
        dim = self.store.settings["dim"]
        checked = [(chunk, check_unit_vector(chunk.id, vector, dim)) for chunk, vector in items]
        with self.store.write("put") as writer:
            writer.put_all(checked, origin)
        return writer.version if writer.changed else self.store.version()

    def remove(self, ids: Iterable[str]) -> int:
        """Delete chunks by id; returns the version that lacks them."""
        with self.store.write("remove") as writer:
            for name in ids:
                writer.remove_chunk(name)
        return writer.version if writer.changed else self.store.version()

    # -- upkeep

    no_vectors = None

    @property
    def pending(self) -> int:
        """Rows that the next `compact` would index, reanalyse or add to the graph; the server maintains all other
        indexes itself."""
        return max(self._unindexed(), self._count_changes())

    @property
    def due(self) -> bool:
        return self._unindexed() > 0 or self._count_changes() >= COMPACT_FROM

    def _unindexed(self) -> int:
        """Rows whose words must be reanalysed, or whose vectors are enough for an index that is missing."""
        state = self._state()
        if upkeep.is_outdated(self.store):
            return self._open_view(state.newest, state).size
        size = 0 if state.index or not self.store.settings["dim"] else self._open_view(state.newest, state).size
        return size if size >= self._index_from else 0

    def _count_changes(self) -> int:
        return 0 if self.store.no_graph else self.store.read(graph_pages.count_changes)

    @property
    def wants_index(self) -> bool:
        return False

    def index(self) -> dict[str, Any]:
        """The state of the server's indexes; words are always indexed, vectors once there are enough."""
        state = self._state()
        near = f"vectors by HNSW in half precision ({index_name(self.store.settings['vectors'])})"
        kinds = ["words by GIN (holding)", *([near] if state.index else [])]
        waiting = [f"{many:,} to be indexed" for many in (self._unindexed(),) if many]
        return {
            "name": ", ".join(kinds),
            "version": state.newest,
            "chunks": self.snapshot().size,
            "waiting": "; ".join([*waiting, self.describe_graph()]),
        }

    def describe_graph(self) -> str:
        """Describe the stored graph in a sentence."""
        if not self._uses_graph:
            return f"no graph: {self.store.no_graph.text}" if self.store.no_graph else "no graph yet"
        changes = self.changes_since_graph
        since = "1 change" if changes == 1 else f"{changes:,} changes"
        return f"graph as of v{self._graphs.read_stored().base}, {since} since"

    @property
    def changes_since_graph(self) -> int:
        """Chunks inserted and deleted since the graph was built; 0 where there is none."""
        return self._count_changes() if self._uses_graph else 0

    @property
    def _uses_graph(self) -> bool:
        return not self.store.no_graph and bool(self._graphs.read_stored().made)

    def server(self) -> ServerInfo:
        return self.store.read(examine_server)

    def sizes(self) -> dict[str, int]:
        return self.store.sizes()

    def compact(self, progress: Progress = lambda *_: None, force: bool = False) -> bool:
        """Build missing indexes; False when none was. `force` also does what the server would do in time."""
        if self.store.readonly:
            return False
        outdated = upkeep.is_outdated(self.store)
        if outdated:
            upkeep.reanalyse(self.store, progress)
        built = self._build_indexes(progress, force)
        built = self._refresh_graph(progress, force) or built
        if outdated or built or force:
            upkeep.refresh_statistics(self.store)
        return outdated or built or force

    def _build_indexes(self, progress: Progress, force: bool) -> bool:
        """Build what searches look up, but the graph; False when nothing was missing."""
        built = upkeep.build_index(self.store, self._index_from, progress)
        with self.store.autocommit() as db:
            return textsearch.build(db) or built

    def forget(self, version: int, progress: Progress = lambda *_: None) -> int:
        """Erase rows deleted at or before a version; older snapshots can no longer be read. Returns how many rows.

        The graph is rebuilt first: it must not contain rows that are about to be erased (law 10)."""
        self._refresh_graph(progress, force=False)
        with self.store.write(f"forget before v{version}") as writer:
            erased = writer.forget_dead(version)
        upkeep.vacuum(self.store)
        return erased

    def erase(self, doc_ids: Sequence[str], note: str) -> ErasureReport:
        """Erase every row of documents from all versions and indexes, and their words from the list of terms.

        The graph, which contains their ids, is deleted and rebuilt without them."""
        used = self._uses_graph
        with self.store.write(note) as writer:
            erased = writer.erase(doc_ids)
        upkeep.vacuum(self.store)
        remaining = ["the server's write-ahead log, replicas and backups keep them until they are recycled"]
        if erased and used:
            self._rebuild_graph()
            remaining.append("other processes that walked the graph hold its names in memory until they walk again")
        rows = "1 row" if erased == 1 else f"{erased:,} rows"
        return ErasureReport(
            [f"{self.store.address}: {rows} of all versions, swept out of tables and indexes"],
            remaining,
        )

    def _rebuild_graph(self) -> None:
        """Rebuild the graph; where that fails, the next walk does it."""
        with contextlib.suppress(StoreError):
            self._graphs.get(self._graphs.read_stored().base)

    # -- the graph

    def _refresh_graph(self, progress: Progress, force: bool) -> bool:
        return not self.store.no_graph and self._graphs.refresh(progress, force)

    @property
    def graph_due(self) -> bool:
        if self.store.no_graph or self._graphs.is_usable(self._graphs.read_stored()):
            return False
        return self.snapshot().size > MOST_TAIL

    def build_graph(self, progress: Progress = lambda *_: None) -> int:
        """Build the graph now, instead of for the first query, and save it to the database; returns how many chunks it
        covers: 0 before the first upkeep of a small store, where all rows are tail."""
        if self.store.no_graph:
            raise self.store.no_graph.as_error(StoreError)
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
