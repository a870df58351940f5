"""One Qdrant collection: a point per row, with its vector, the weights of its words, and what filters read.

A point's id is the row's `seq`. `words` is a sparse vector of BM25 saturations at the mean length of the manifest, so
that its product with the query's weights is the BM25 score, up to rounding and to how far the mean has moved since.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.backend.postgres.hnsw import INDEX_FROM
from assay.backend.qdrant.settings import QdrantSettings
from assay.errors import StoreError
from assay.types import Floats, Progress, Rows, Vector
from assay.util.qdrant_cluster import IndexLate, IndexUnavailable, QdrantCluster

if TYPE_CHECKING:
    from qdrant_client import QdrantClient, models

DENSE, WORDS = "dense", "words"
GRAPH_FROM = INDEX_FROM
"""Rows from which a graph of vectors is built and used; below, search is exact."""
_EDGES, _WIDTH = 16, 100
"""HNSW's m and ef_construct, Qdrant's own defaults."""
DEFAULT_WIDTH = 512
"""HNSW's ef until one is chosen (`recall_measurement`)."""
_SPARE = 16
_GRAPH_S = 900.0
"""Seconds that `wait_for_graph` waits at most; the graph goes on being built without us."""
_POLL_S = 0.5
_NOT_OURS = "choose another name in the address (index=qdrant://host/NAME), or drop that collection yourself"
_FIELD_INDEXES = {"born": "integer", "died": "integer", "created": "float", "scope": "keyword", "doc_id": "keyword"}


@dataclass(frozen=True, slots=True)
class IndexPoint:
    """A row as the collection holds it."""

    seq: int
    vector: Vector | None
    terms: Sequence[int]
    weights: Sequence[float]
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ShardCoverage:
    """Which shards answered one request, and the share of the indexed rows that they hold."""

    shards: int
    answered: int
    failed: tuple[str, ...] = ()
    late: tuple[str, ...] = ()
    """Shards that did not answer in time."""
    share: float = 1.0

    def to_json(self) -> dict[str, Any]:
        return {
            "shards_asked": self.shards,
            "shards_answered": self.answered,
            "shards_failed": list(self.failed),
            "shards_late": list(self.late),
            "rows_covered": round(self.share, 6),
        }


@dataclass(frozen=True, slots=True)
class Proposals:
    """Rows by descending score of the index."""

    rows: Rows
    scores: Floats
    coverage: ShardCoverage


class PointCollection:
    """A collection of one store. Safe for threads."""

    def __init__(self, cluster: QdrantCluster, name: str, settings: QdrantSettings) -> None:
        self.cluster, self.name, self._settings = cluster, name, settings

    # -- making

    def create(self, dim: int, owner: Mapping[str, str]) -> None:
        """Make it anew; StoreError when a collection of this name exists, or the server cannot have it."""
        from qdrant_client import models

        self.cluster.check_version()
        if self.exists():
            raise StoreError(f"there is a collection {self.name!r} at {self.cluster.address} already", _NOT_OURS)
        quantised = self._settings.vectors == "int8"
        graph_kb = max(10, GRAPH_FROM * dim * 4 // 1024 // self._settings.shards)
        dense = models.VectorParams(
            size=dim,
            distance=models.Distance.DOT,
            on_disk=quantised,
            hnsw_config=models.HnswConfigDiff(m=0)  # a graph that no search reads takes hours at this size
            if self._settings.vectors == "exact"
            else models.HnswConfigDiff(m=_EDGES, ef_construct=_WIDTH, full_scan_threshold=graph_kb),
            quantization_config=models.ScalarQuantization(
                scalar=models.ScalarQuantizationConfig(type=models.ScalarType.INT8, quantile=0.99, always_ram=True)
            )
            if quantised
            else None,
        )
        placed = self._place_shards()
        self.cluster.ask(
            lambda client: client.create_collection(
                self.name,
                vectors_config={DENSE: dense} if dim else {},
                sparse_vectors_config={WORDS: models.SparseVectorParams()},
                shard_number=1,
                sharding_method=models.ShardingMethod.CUSTOM if placed else None,
                replication_factor=self._settings.replicas,
                write_consistency_factor=1,
                optimizers_config=models.OptimizersConfigDiff(indexing_threshold=graph_kb),
                metadata={"assay": dict(owner)},
            )
        )
        for key, peers in placed.items():
            self.cluster.ask(
                lambda client, key=key, peers=peers: client.create_shard_key(self.name, key, placement=peers)  # type: ignore[misc]
            )
        for name, kind in _FIELD_INDEXES.items():
            self.cluster.ask(
                lambda client, name=name, kind=kind: client.create_payload_index(self.name, name, kind, wait=True)  # type: ignore[misc]
            )

    def _place_shards(self) -> dict[str, list[int]]:
        """The nodes of every shard's replicas, in turns: Qdrant alone would place them at random."""
        if not self._shard_keys:
            return {}
        peers = self.cluster.list_peers()
        if len(peers) < self._settings.replicas:
            raise StoreError(
                f"{self._settings.replicas} replicas need as many nodes, and {self.cluster.address} has {len(peers)}",
                "start more nodes, or lower index_replicas",
            )
        replicas = range(self._settings.replicas)
        return {
            key: [peers[(place + replica) % len(peers)] for replica in replicas]
            for place, key in enumerate(self._shard_keys)
        }

    def exists(self) -> bool:
        return bool(self.cluster.ask(lambda client: client.collection_exists(self.name)))

    def check_owner(self, expected: Mapping[str, str]) -> int:
        """The dimensions of its vectors, 0 without any. StoreError when the collection is somebody else's;
        IndexUnavailable when there is none."""
        info = self.cluster.ask(lambda client: client.get_collection(self.name))
        owner = (info.config.metadata or {}).get("assay") or {}
        if any(owner.get(key) != value for key, value in expected.items()):
            raise StoreError(f"the collection {self.name!r} at {self.cluster.address} is not of this store", _NOT_OURS)
        vectors = info.config.params.vectors
        return int(vectors[DENSE].size) if isinstance(vectors, dict) and DENSE in vectors else 0

    def drop(self) -> None:
        self.cluster.ask(lambda client: client.delete_collection(self.name))

    def count(self) -> int:
        return int(self.cluster.ask(lambda client: client.count(self.name, exact=True)).count)

    def wait_for_graph(self, progress: Progress) -> bool:
        """Wait while Qdrant builds graphs of what it was sent; False when it has not ended after a quarter of an hour.

        Searches are answered meanwhile: rows without a graph are compared one by one."""
        until = time.monotonic() + _GRAPH_S
        while time.monotonic() < until:
            info = self.cluster.ask(lambda client: client.get_collection(self.name))
            if info.status != "yellow":  # red and grey do not end by waiting: what there is can be searched
                return True
            progress("building the graph in Qdrant", info.indexed_vectors_count or 0, info.points_count or 0)
            time.sleep(_POLL_S)
        return False

    # -- writing; every call returns when all live replicas have it

    def put(self, points: Sequence[IndexPoint]) -> None:
        from qdrant_client import models

        structs = {
            point.seq: models.PointStruct(
                id=point.seq,
                vector={
                    WORDS: models.SparseVector(indices=list(point.terms), values=list(point.weights)),
                    **({} if point.vector is None else {DENSE: point.vector.tolist()}),
                },
                payload=dict(point.payload),
            )
            for point in points
        }
        self._write_each(
            list(structs),
            lambda client, key, seqs: client.upsert(
                self.name, [structs[seq] for seq in seqs], wait=True, shard_key_selector=key
            ),
        )

    def mark_dead(self, died: int, seqs: Sequence[int]) -> None:
        """Note the version in which rows were deleted."""
        self._write_each(
            seqs,
            lambda client, key, held: client.set_payload(
                self.name, {"died": died}, points=held, wait=True, shard_key_selector=key
            ),
        )

    def delete(self, seqs: Sequence[int]) -> None:
        from qdrant_client import models

        self._write_each(
            seqs,
            lambda client, key, held: client.delete(
                self.name, models.PointIdsList(points=held), wait=True, shard_key_selector=key
            ),
        )

    def _write_each(self, seqs: Sequence[int], write: Callable[[QdrantClient, str | None, list[Any]], object]) -> None:
        """Send rows to the shards that hold them: a row belongs to shard `seq mod shards`."""
        keys = self._shard_keys or (None,)
        for place, key in enumerate(keys):
            held = [seq for seq in seqs if seq % len(keys) == place]
            if held:
                self.cluster.ask(lambda client, key=key, held=held: write(client, key, held))  # type: ignore[misc]

    # -- searching

    @property
    def _shard_keys(self) -> tuple[str, ...]:
        return tuple(f"s{i}" for i in range(self._settings.shards)) if self._settings.shards > 1 else ()

    def is_approximate(self, rows: int) -> bool:
        """Whether a search of so many rows may miss some of the nearest."""
        return self._settings.vectors != "exact" and rows >= GRAPH_FROM

    @staticmethod
    def fetch_count(k: int, exact: bool) -> int:
        """How many rows are fetched at first to find the best k."""
        return k + _SPARE if exact else 2 * k + _SPARE

    def nearest(
        self, vector: Vector, k: int, exact: bool, visible: models.Filter | None, width: int = DEFAULT_WIDTH
    ) -> Proposals:
        """Rows by their product with a vector; `width` is HNSW's ef. Codes are not rescored by Qdrant: Assay scores the
        whole vectors."""
        from qdrant_client import models

        search = models.SearchParams(
            exact=exact,
            hnsw_ef=None if exact else max(width, k),
            quantization=models.QuantizationSearchParams(rescore=False),
        )
        return self._query(vector.tolist(), DENSE, k, visible, search)

    def heaviest(
        self, terms: Sequence[int], weights: Sequence[float], k: int, visible: models.Filter | None
    ) -> Proposals:
        """Rows by the product of their word weights with the query's."""
        from qdrant_client import models

        return self._query(models.SparseVector(indices=list(terms), values=list(weights)), WORDS, k, visible, None)

    def _query(self, query: Any, using: str, k: int, visible: models.Filter | None, search: Any) -> Proposals:
        """One request to all shards; where it fails, one to each shard, to learn which of them answer."""

        def ask(key: str | None) -> list[tuple[int, float]]:
            found = self.cluster.ask(
                lambda client: client.query_points(
                    self.name,
                    query=query,
                    using=using,
                    limit=k,
                    query_filter=visible,
                    search_params=search,
                    with_payload=False,
                    shard_key_selector=key,
                )
            )
            return [(int(point.id), float(point.score)) for point in found.points]

        keys = self._shard_keys
        try:
            return _proposals(ask(None), ShardCoverage(max(1, len(keys)), max(1, len(keys))), k)
        except IndexUnavailable:
            if not keys or not self._settings.partial:
                raise
        return self._query_each(ask, k)

    def _query_each(self, ask: Callable[[str | None], list[tuple[int, float]]], k: int) -> Proposals:
        keys = self._shard_keys
        found: list[tuple[int, float]] = []
        failed: list[str] = []
        late: list[str] = []
        with ThreadPoolExecutor(len(keys)) as pool:
            for key, future in [(key, pool.submit(ask, key)) for key in keys]:
                try:
                    found += future.result()
                except IndexLate:
                    late.append(key)
                except IndexUnavailable:
                    failed.append(key)
        lost = len(failed) + len(late)
        if lost == len(keys):
            raise IndexUnavailable(
                f"none of the {len(keys)} shards at {self.cluster.address} answers", "start its nodes"
            )
        share = 1.0 - lost / len(keys)
        return _proposals(found, ShardCoverage(len(keys), len(keys) - lost, tuple(failed), tuple(late), share), k)


def _proposals(found: Sequence[tuple[int, float]], coverage: ShardCoverage, k: int) -> Proposals:
    best = sorted(found, key=lambda pair: (-pair[1], pair[0]))[:k]
    rows = np.array([row for row, _ in best], np.int64)
    return Proposals(rows, np.array([score for _, score in best], np.float64), coverage)
