"""The backend of a PostgreSQL store with a Qdrant index: PostgreSQL's backend, and the upkeep of the collection."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay.backend.contract import Check, ErasureReport
from assay.backend.postgres import upkeep
from assay.backend.postgres.backend import PostgresBackend, ServerState
from assay.backend.postgres.store import PostgresStore
from assay.backend.postgres.version_view import VersionView
from assay.backend.qdrant.manifest import KEY, IndexManifest
from assay.backend.qdrant.reader import IndexReader, MissingIndex
from assay.backend.qdrant.recall_measurement import is_measured
from assay.backend.qdrant.settings import QdrantSettings
from assay.backend.qdrant.snapshot import IndexedSnapshot
from assay.backend.qdrant.synchroniser import IndexSynchroniser
from assay.backend.shared.limits import COMPACT_FROM, MOST_TAIL
from assay.errors import Reason, StoreError
from assay.index.recall import describe_recall
from assay.types import Progress
from assay.util.qdrant_cluster import IndexUnavailable, QdrantAddress, QdrantCluster

_CHECK_S = 30.0
"""Seconds after which the collection's number of points is checked again."""
_RETRY_S = 2.0
"""Seconds after which an index that did not answer is asked again."""
_BEHIND = """
SELECT (SELECT count(*) FROM (SELECT 1 FROM chunk WHERE seq > %s LIMIT {most}) AS rows)
     + (SELECT count(*) FROM (SELECT 1 FROM chunk WHERE died > %s AND seq <= %s LIMIT {most}) AS deaths)
""".format(most=MOST_TAIL + 1)


@dataclass(frozen=True)
class _Checked:
    """What was found when the collection was last looked at."""

    manifest: IndexManifest
    until: float
    trouble: Reason | None


class IndexedBackend(PostgresBackend):
    """Implements `contract.StoreBackend`. One per process and store; safe for threads."""

    def __init__(
        self, store: PostgresStore, no_vectors: Reason, address: QdrantAddress, settings: QdrantSettings
    ) -> None:
        super().__init__(store, no_vectors)
        self._cluster = QdrantCluster(address, settings.timeout)
        self._settings = settings
        self._synchroniser = IndexSynchroniser(store, self._cluster, settings)
        self._check_lock = threading.Lock()
        self._checked: _Checked | None = None

    # -- reading

    def snapshot(self, version: int | None = None) -> IndexedSnapshot:
        """The newest state, or the store as it was at a version. Cheap: the index is searched as it is now."""
        state = self._state()
        if version is not None and version != state.newest:
            self._check_version(version, state)
            return self._open_view(version, state)
        return self._open_view(state.newest, state)

    def _open_view(self, version: int, state: ServerState) -> IndexedSnapshot:
        base = state.base if state.base is None else min(state.base, version)
        view = VersionView(self.store, version, self._names, False)
        manifest = self._manifest()
        # While vectors are exact the answers are canonical, and the digest covers nothing of the index.
        index = "" if self._settings.vectors == "exact" or manifest is None else manifest.collection
        reader = self._reader(view, manifest)
        return IndexedSnapshot(view, self._no_vectors, self._graphs, base=base, index=index, reader=reader)

    def _manifest(self) -> IndexManifest | None:
        found = self.store.read(lambda db: db.execute("SELECT value FROM setting WHERE key = %s", (KEY,)).fetchone())
        return IndexManifest.decode(found[0] if found else None, self.store.database)

    def _reader(self, view: VersionView, manifest: IndexManifest | None) -> IndexReader | MissingIndex:
        if manifest is None:
            return MissingIndex(Reason("there is no index yet", "assay optimize"), is_fault=False)
        if (stale := self._explain_stale(manifest)) is not None:
            return MissingIndex(stale, is_fault=False)
        if (fault := self._examine(manifest)) is not None:
            return MissingIndex(fault)
        tail = bool(view.read("SELECT 1 FROM chunk WHERE seq > %s LIMIT 1", (manifest.seq,)))
        collection = self._synchroniser.collection(manifest)
        return IndexReader(view, manifest, collection, tail)

    def _explain_stale(self, manifest: IndexManifest) -> Reason | None:
        settings = self.store.settings
        if (manifest.model, manifest.analyser) != (settings["model"], settings["analyser"]):
            return Reason("the index is of another model or analyser", "assay optimize")
        return self._settings.explain_other(manifest.layout)

    def _examine(self, manifest: IndexManifest) -> Reason | None:
        """Why the collection cannot serve; looked at now and then, and at once when the manifest has changed."""
        with self._check_lock:
            checked = self._checked
            if checked is None or checked.manifest != manifest or time.monotonic() > checked.until:
                trouble = self._look(manifest)
                rest = _CHECK_S if trouble is None else _RETRY_S
                checked = self._checked = _Checked(manifest, time.monotonic() + rest, trouble)
            return checked.trouble

    def _look(self, manifest: IndexManifest) -> Reason | None:
        collection = self._synchroniser.collection(manifest)
        try:
            if not collection.exists():
                return Reason(f"its collection {manifest.collection} is gone", "assay optimize builds another")
        except StoreError as error:
            return error.reason
        try:
            dim = collection.check_owner(self._synchroniser.owner)
            points = collection.count()
        except IndexUnavailable as error:  # a shard is lost: where partial answers are allowed, a search says which
            return None if self._settings.partial else error.reason
        except StoreError as error:
            return error.reason
        if dim != int(self.store.settings["dim"]):
            return Reason(
                f"its collection {manifest.collection} has vectors of {dim} dimensions, the store of "
                f"{self.store.settings['dim']}",
                "assay optimize builds another",
            )
        if points < manifest.points:
            return Reason(
                f"the index has lost {manifest.points - points:,} of {manifest.points:,} rows", "assay optimize"
            )
        return None

    # -- upkeep

    @property
    def pending(self) -> int:
        return max(super().pending, self._behind())

    @property
    def due(self) -> bool:
        return upkeep.is_outdated(self.store) or self._behind() >= COMPACT_FROM or self._count_changes() >= COMPACT_FROM

    @property
    def wants_index(self) -> bool:
        """Whether the rows that only PostgreSQL can search are many."""
        return self._behind() > MOST_TAIL

    def _unindexed(self) -> int:
        return self.snapshot().size if upkeep.is_outdated(self.store) else 0

    def _behind(self) -> int:
        """Rows and deaths that the collection lacks, counted up to a limit."""
        manifest = self._manifest()
        seq, version = (0, 0) if manifest is None else (manifest.seq, manifest.version)
        found = self.store.read(lambda db: db.execute(_BEHIND, (seq, version, seq)).fetchone())
        return int(found[0]) if found else 0

    def index(self) -> dict[str, Any]:
        described = super().index()
        manifest = self._manifest()
        layout = self._settings.layout()
        name = (
            f"{self._cluster.address}, {manifest.collection}" if manifest else f"{self._cluster.address}, not built yet"
        )
        behind = self._behind()
        return {
            **described,
            "vectors": self._vector_facts(manifest),
            "name": f"words and vectors in Qdrant ({name}; {layout['vectors']})",
            "version": manifest.version if manifest else described["version"],
            "waiting": "; ".join([*([f"{behind:,} to be indexed"] if behind else []), self.describe_graph()]),
        }

    def _build_indexes(self, progress: Progress, force: bool) -> bool:
        """Bring the collection in step."""
        built = self._synchroniser.synchronise(progress, force)
        self._checked = None  # what was wrong with the index may be right now
        return built

    def forget(self, version: int, progress: Progress = lambda *_: None) -> int:
        gone = self._seqs("died <= %s", version)
        erased = super().forget(version, progress)
        self._synchroniser.forget(gone)
        return erased

    def erase(self, doc_ids: Sequence[str], note: str) -> ErasureReport:
        gone = self._seqs("doc_id = ANY(%s)", list(doc_ids))
        report = super().erase(doc_ids, note)
        trouble = self._synchroniser.forget(gone)
        if trouble:
            report.unreached.append(
                f"the index at {self._cluster.address} ({trouble}); the next assay optimize drops it"
            )
        else:
            report.erased.append(f"{self._cluster.address}: {len(gone):,} points")
        return report

    def _seqs(self, condition: str, given: Any) -> list[int]:
        rows = self.store.read(lambda db: db.execute(f"SELECT seq FROM chunk WHERE {condition}", (given,)).fetchall())
        return [row[0] for row in rows]

    def health(self) -> list[Check]:
        return [*super().health(), self._check_index()]

    def _check_index(self) -> Check:
        try:
            version = self._cluster.check_version()
        except StoreError as error:  # out of reach, or too old
            return Check("index", "warn", error.message, error.cure)
        manifest = self._manifest()
        if manifest is None:
            return Check("index", "warn", f"Qdrant {version}; there is no index yet", "assay optimize")
        trouble = self._explain_stale(manifest) or self._look(manifest)
        if trouble is not None:
            return Check("index", "warn", f"Qdrant {version}; {trouble.text}", trouble.cure)
        text = f"Qdrant {version}; {manifest.points:,} rows in {manifest.collection}, {self._behind():,} waiting"
        if silent := self._cluster.silent_nodes():
            nodes = f"{len(silent)} of {len(self._cluster.address.urls)} nodes"
            return Check(
                "index",
                "warn",
                f"{text}; {nodes} without an answer: {'; '.join(silent.values())}",
                "start them: until then a further loss may be one too many",
            )
        recall = describe_recall(self._vector_facts(manifest))
        if recall and not is_measured(manifest):
            return Check("index", "warn", f"{text}; {recall}", "assay optimize measures it")
        return Check("index", "ok", f"{text}; {recall}" if recall else text)

    def _vector_facts(self, manifest: IndexManifest | None) -> dict[str, Any] | None:
        """What is known of an approximate vector search; None where it is exact."""
        if manifest is None or not self._synchroniser.collection(manifest).is_approximate(manifest.points):
            return None
        return {"kind": manifest.layout["vectors"], **manifest.vectors}

    def close(self) -> None:
        super().close()
        self._cluster.close()
