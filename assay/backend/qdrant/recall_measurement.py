"""Chooses how wide a collection's graph is searched, and measures how much of the truth such a search finds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.backend.postgres.store import PostgresStore
from assay.backend.postgres.vector_type import unpack_vector
from assay.backend.qdrant.collection import PointCollection
from assay.backend.qdrant.filters import visible_filter
from assay.backend.qdrant.manifest import IndexManifest
from assay.index.recall import QUERIES, mean_recall, mix_queries
from assay.index.vectors import DEPTH
from assay.types import Progress, Rows, Vectors

if TYPE_CHECKING:
    from qdrant_client import models

_QUERIES = 64
"""Each is compared with every vector once: at a million vectors a fifth of a second of processor time."""
_SHALLOW = 10
_WANTED = 0.99
WIDTHS = (128, 256, 512, 1_024)
GROWN = 1.25
"""By how much a collection may grow before its recall is measured anew."""
_VECTORS_NEAR = """
SELECT vector_send(found.v) FROM unnest(%s::bigint[]) WITH ORDINALITY AS wanted(seq, place)
JOIN LATERAL (SELECT v FROM {table} n WHERE n.seq >= wanted.seq ORDER BY n.seq LIMIT 1) AS found ON true ORDER BY place
"""


def is_measured(manifest: IndexManifest) -> bool:
    """Whether the manifest has a recall that still describes the collection."""
    return "recall" in manifest.vectors and manifest.points <= GROWN * manifest.vectors["vectors"]


def measure_recall(
    store: PostgresStore, collection: PointCollection, manifest: IndexManifest, progress: Progress
) -> dict[str, Any]:
    """The facts of the manifest: how wide the graph is searched, and the recall that this reaches."""
    queries = _sample_queries(store, manifest)
    visible = visible_filter(manifest.version, None, None, None)
    return {
        "kind": manifest.layout["vectors"],
        "vectors": manifest.points,
        **calibrate_width(collection, queries, visible, progress),
        "recall_depth": DEPTH,
        "recall_queries": QUERIES,
    }


def calibrate_width(
    collection: PointCollection, queries: Vectors, visible: models.Filter, progress: Progress
) -> dict[str, Any]:
    """The least width (HNSW's ef) that finds enough of the truly nearest 10 and 100 rows, and the shares that it finds;
    the largest width where none does."""
    truth: list[Rows] = []
    for done, query in enumerate(queries):
        progress("measuring recall", done, len(queries))
        truth.append(collection.nearest(query, DEPTH, True, visible).rows)
    progress("measuring recall", len(queries), len(queries))
    shares: dict[int, float] = {}
    for width in WIDTHS:
        for depth in (_SHALLOW, DEPTH):
            fetched = collection.fetch_count(depth, exact=False)
            found = [collection.nearest(query, fetched, False, visible, width).rows for query in queries]
            shares[depth] = round(mean_recall([right[:depth] for right in truth], found), 4)
        if min(shares.values()) >= _WANTED:
            break
    return {"ef": width, "recall": shares[DEPTH], "recall_at_10": shares[_SHALLOW]}


def _sample_queries(store: PostgresStore, manifest: IndexManifest) -> Vectors:
    rng = np.random.default_rng(1)
    one, other = (_read_vectors(store, rng.integers(1, manifest.seq + 1, _QUERIES).tolist()) for _ in range(2))
    pairs = min(len(one), len(other))  # rows behind the last vector have none
    return mix_queries(one[:pairs], other[:pairs], rng)


def _read_vectors(store: PostgresStore, seqs: Sequence[int]) -> Vectors:
    statement = _VECTORS_NEAR.format(table=store.settings["vectors"])
    rows = store.read(lambda db: db.execute(statement, (list(seqs),)).fetchall())
    return np.array([unpack_vector(bytes(row[0])) for row in rows], np.float32).reshape(len(rows), -1)
