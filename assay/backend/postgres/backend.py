"""The team's backend: snapshots for readers, transactions for writers, upkeep of the server's indexes."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Sequence
from typing import Any

from assay.backend.kept import Erased, Progress
from assay.backend.postgres import textsearch, upkeep
from assay.backend.postgres.hnsw import INDEX_FROM, index_name
from assay.backend.postgres.server import Server, examined
from assay.backend.postgres.snapshot import PostgresSnapshot
from assay.backend.postgres.store import PostgresStore
from assay.backend.postgres.view import Names, View
from assay.store.refusals import check_unit, check_version, embedded_anew
from assay.types import Chunk, Vector

_STATE = """
SELECT (SELECT max(number) FROM version), (SELECT value FROM setting WHERE key = 'model'), {},
  (SELECT indexrelid::text || '.' || pg_relation_filenode(indexrelid) FROM pg_index
   WHERE indexrelid = to_regclass(%s) AND indisvalid),
  (SELECT value FROM setting WHERE key = 'analyser')
"""


class PostgresBackend:
    """Implements `kept.KeptBackend`. One per process and store; safe for threads."""

    def __init__(self, store: PostgresStore, no_vectors: str, *, index_from: int = INDEX_FROM) -> None:
        self.store = store
        self._no_vectors = no_vectors
        self._index_from = index_from
        self._names = Names()
        self._lock = threading.Lock()
        self._current: PostgresSnapshot | None = None
        self._stamp: tuple[int, str, bool] = (-1, "", False)
        self._textsearch = False

    # -- reading

    def snapshot(self, version: int | None = None) -> PostgresSnapshot:
        """The newest state, or the store as it was at a version."""
        newest, index = self._state()
        if version not in (None, newest):
            check_version(version, self.store.oldest(), newest)
            return self._view(version, index)
        with self._lock:
            stamp = (newest, index, self._textsearch)
            if self._current is None or self._stamp != stamp:
                self._current = self._view(newest, index)
                self._stamp = stamp
            return self._current

    def _state(self) -> tuple[int, str]:
        """The newest version and the identity of the vectors' index, "" where there is none. Notes what proposes."""
        table = self.store.settings.get("vectors") or "nothing"
        statement = _STATE.format(textsearch.PRESENT)
        found = self.store.read(lambda db: db.execute(statement, (index_name(table),)).fetchone())
        assert found is not None
        if json.loads(found[1]) != self.store.settings["model"]:
            raise embedded_anew(self.store.address)
        self._textsearch = bool(found[2])
        self.store.settings["analyser"] = json.loads(found[4])  # another release may have analysed it anew
        return int(found[0]), found[3] or ""

    def _view(self, version: int, index: str) -> PostgresSnapshot:
        view = View(self.store, version, self._names, self._textsearch)
        return PostgresSnapshot(view, self._no_vectors, index=index, index_from=self._index_from)

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
        """Rows that the next `compact` would index or analyse; the server keeps step with everything else by itself."""
        newest, index = self._state()
        if upkeep.is_outdated(self.store):
            return self._view(newest, index).size
        size = 0 if index or not self.store.settings["dim"] else self._view(newest, index).size
        return size if size >= self._index_from else 0

    @property
    def due(self) -> bool:
        return self.pending > 0

    @property
    def wants_index(self) -> bool:
        return False

    def index(self) -> dict[str, Any]:
        """What the server's indexes say of themselves; words are always in step, vectors once there are enough."""
        newest, index = self._state()
        near = f"vectors by HNSW in half precision ({index_name(self.store.settings['vectors'])})" if index else ""
        kinds = ["words by GIN (holding)", *([near] if near else [])]
        return {"name": ", ".join(kinds), "version": newest, "chunks": self.snapshot().size}

    def server(self) -> Server:
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
        if outdated or built or force:
            upkeep.settle(self.store)
        return outdated or built or force

    def forget(self, version: int, progress: Progress = lambda *_: None) -> int:
        """Erase what was already dead at a version; older snapshots are gone for good. How many rows."""
        with self.store.write(f"forget before v{version}") as writer:
            gone = writer.forget_dead(version)
        upkeep.sweep(self.store)
        return gone

    def erase(self, doc_ids: Sequence[str], note: str) -> Erased:
        """Remove every row of documents from all versions and indexes, and their words from the list of terms."""
        with self.store.write(note) as writer:
            gone = writer.erase(doc_ids)
        upkeep.sweep(self.store)
        rows = "1 row" if gone == 1 else f"{gone:,} rows"
        return Erased(
            [f"{self.store.address}: {rows} of all versions, swept out of tables and indexes"],
            ["the server's write-ahead log, replicas and backups keep them until they are recycled"],
        )

    def close(self) -> None:
        self._current = None
        self.store.close()
