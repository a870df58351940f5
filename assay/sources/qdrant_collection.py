"""Searches a Qdrant collection that another program writes; it is never written here."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from assay.engine.chunk_columns import ChunkColumns
from assay.engine.foreign_chunks import SourceResult
from assay.errors import ConfigError, StoreError
from assay.protocols import Snapshot
from assay.sources.listing import SourceHit, build_result
from assay.types import Chunk, Query, Range, Ranking
from assay.util.permissions import Effect, host_effect, require
from assay.util.qdrant_cluster import QdrantAddress, QdrantCluster
from assay.where import Mask, Value

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

_SPARE = 8
"""Points that the first request fetches beyond twice the wanted number."""
_MOST = 10_000
"""Points that are fetched at most to fill a list behind a filter."""


@dataclass(frozen=True, slots=True)
class QdrantCollection:
    """Points of a collection, nearest first: score = max(0, cosine), scale unit.

    `address` is qdrant://host[:port][,host…]/COLLECTION (qdrants:// for TLS). The query's vector is this store's, so
    the collection must hold vectors of the same model, compared by cosine (or dot product of unit vectors); another
    length is refused. `vector` names the vector where the collection has several. Keys of the payload: `text`, `id`
    (by default the point's id), `doc` (by default the id), `created` (seconds since 1970, or an ISO date); a path such
    as `metadata.page` is read too. Other plain values of the payload, and of the table `meta` in it, become metadata.
    Filters, scope and `at` are applied here, over as many of the nearest points as are needed, at most 10,000. Equal
    scores stand in id order. `exact` compares every vector. `key_env` names the variable with the API key.
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    wants: ClassVar[frozenset[str]] = frozenset({"vector"})
    is_source: ClassVar[bool] = True

    address: str
    text: str = "text"
    id: str = ""
    doc: str = ""
    created: str = ""
    meta: str = "metadata"
    vector: str = ""
    exact: bool = False
    key_env: str = ""
    timeout: float = 10.0

    def __post_init__(self) -> None:
        if not QdrantAddress.parse(self.address).name:
            raise ConfigError("qdrant_collection.address names no collection", "write qdrant://host:6333/COLLECTION")
        if not self.text:
            raise ConfigError("qdrant_collection.text is empty", "name the key of the payload that holds the text")
        if not 0 < self.timeout < math.inf:
            raise ConfigError("qdrant_collection.timeout must be above 0", "give seconds, e.g. 10.0")

    def effects(self) -> tuple[Effect, ...]:
        hosts = tuple(host_effect(url) for url in QdrantAddress.parse(self.address).urls)
        return (*dict.fromkeys(hosts), *((Effect("variable", self.key_env),) if self.key_env else ()))

    def gives(self) -> Range:
        return Range("unit", 0.0, 1.0)

    def find(self, query: Query, snapshot: Snapshot, k: int, seeds: Ranking | None = None) -> SourceResult:
        name = QdrantAddress.parse(self.address).name
        if query.vector is None:
            if not query.text.strip():
                return build_result(name, [], "unit", k)
            raise StoreError(f"{name} is searched by vector, and the query has none", "assay model install")
        require(*self.effects())
        key = os.environ.get(self.key_env, "") if self.key_env else ""
        cluster = QdrantCluster(QdrantAddress.parse(self.address, key), self.timeout)
        try:
            return build_result(name, self._hits(cluster, name, query, k), "unit", k)
        finally:
            cluster.close()

    def _hits(self, cluster: QdrantCluster, name: str, query: Query, k: int) -> list[SourceHit]:
        """The visible hits by (score desc, id asc). More are fetched where the k-th ties with the last one."""
        fetch = 2 * k + _SPARE
        while True:
            limit = min(fetch, _MOST)
            hits = [self._parse(point) for point in self._points(cluster, name, query, limit)]
            visible = [hit for hit, seen in zip(hits, _visible([h.chunk for h in hits], query), strict=True) if seen]
            visible.sort(key=lambda hit: (-hit.score, hit.chunk.id))
            settled = len(visible) > k and visible[k - 1].score > min(hit.score for hit in hits)
            if settled or len(hits) < limit or limit == _MOST:
                return visible
            fetch *= 4

    def _points(self, cluster: QdrantCluster, name: str, query: Query, limit: int) -> Sequence[Any]:
        from qdrant_client import models

        assert query.vector is not None
        vector = query.vector.tolist()

        def search(client: QdrantClient) -> Any:
            return client.query_points(
                name,
                query=vector,
                using=self.vector or None,
                limit=limit,
                search_params=models.SearchParams(exact=self.exact),
                with_payload=True,
            )

        return list(cluster.ask(search).points)

    def _parse(self, point: Any) -> SourceHit:
        payload: Mapping[str, Any] = point.payload or {}
        inner = _read(payload, self.meta)
        own = {self.text, self.id, self.doc, self.created, self.meta}
        meta = {
            key: value
            for table in (inner if isinstance(inner, Mapping) else {}, payload)
            for key, value in table.items()
            if key not in own and _is_plain(value)
        }
        name = str(_read(payload, self.id) if self.id and _read(payload, self.id) is not None else point.id)
        doc = _read(payload, self.doc) if self.doc else None
        created = _moment(_read(payload, self.created)) if self.created else math.nan
        text = _read(payload, self.text)
        chunk = Chunk(name, name if doc is None else str(doc), "" if text is None else str(text), 0, created, meta=meta)
        return SourceHit(chunk, min(1.0, max(0.0, float(point.score))))


@dataclass(frozen=True)
class _Columns:
    """Chunks as a filter reads them."""

    columns: ChunkColumns
    size: int

    def compare(self, name: str, op: str, value: Value) -> Mask:
        return self.columns.compare(name, op, value, self.size)

    def missing(self, name: str) -> Mask:
        return self.columns.missing(name, self.size)


def _visible(chunks: Sequence[Chunk], query: Query) -> Mask:
    """Which chunks a query may see. An undated one is never hidden by its moment."""
    seen = np.ones(len(chunks), np.bool_)
    if query.at is not None:
        seen &= np.array([not chunk.created > query.at for chunk in chunks], np.bool_)
    columns = ChunkColumns()
    for row, chunk in enumerate(chunks):
        columns.add(row, chunk)
    if query.scope is not None:
        seen &= columns.compare("scope", "=", query.scope, len(chunks))
    if query.where is not None:
        seen &= query.where.mask(_Columns(columns, len(chunks)))
    return seen


def _read(payload: Mapping[str, Any], path: str) -> Any:
    """A value by its key, or by a path of keys."""
    if path in payload or "." not in path:
        return payload.get(path)
    first, _, rest = path.partition(".")
    inner = payload.get(first)
    return _read(inner, rest) if isinstance(inner, Mapping) else None


def _is_plain(value: object) -> bool:
    if isinstance(value, list):
        return all(isinstance(member, str | int | float | bool) for member in value)
    return isinstance(value, str | int | float | bool)


def _moment(value: object) -> float:
    """Seconds since 1970; NaN for what is no moment."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    try:
        parsed = datetime.fromisoformat(str(value))
    except ValueError:
        return math.nan
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()
