"""Measures how much of the truth a collection's approximate search finds, as a search would use it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.backend.postgres.store import PostgresStore
from assay.backend.postgres.vector_type import unpack_vector
from assay.backend.qdrant.collection import PointCollection
from assay.backend.qdrant.filters import visible_filter
from assay.backend.qdrant.manifest import IndexManifest
from assay.index.recall import QUERIES, mean_recall, mix_queries
from assay.index.vectors import DEPTH
from assay.types import Progress, Rows, Vectors

_QUERIES = 64
"""Each is compared with every vector once: at a million vectors a fifth of a second of processor time."""
_SHALLOW = 10
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
    """The facts of the manifest: the share of the truly nearest 10 and 100 rows that are proposed."""
    queries = _sample_queries(store, manifest)
    visible = visible_filter(manifest.version, None, None, None)
    truth: list[Rows] = []
    proposed: dict[int, list[Rows]] = {_SHALLOW: [], DEPTH: []}
    for done, query in enumerate(queries):
        progress("measuring recall", done, len(queries))
        truth.append(collection.nearest(query, DEPTH, True, visible).rows)
        for depth, found in proposed.items():
            fetched = collection.fetch_count(depth, exact=False)
            found.append(collection.nearest(query, fetched, False, visible).rows)
    progress("measuring recall", len(queries), len(queries))
    shares = {
        depth: round(mean_recall([right[:depth] for right in truth], found), 4) for depth, found in proposed.items()
    }
    return {
        "kind": manifest.layout["vectors"],
        "vectors": manifest.points,
        "recall": shares[DEPTH],
        "recall_depth": DEPTH,
        "recall_at_10": shares[_SHALLOW],
        "recall_queries": QUERIES,
    }


def _sample_queries(store: PostgresStore, manifest: IndexManifest) -> Vectors:
    rng = np.random.default_rng(1)
    one, other = (_read_vectors(store, rng.integers(1, manifest.seq + 1, _QUERIES).tolist()) for _ in range(2))
    pairs = min(len(one), len(other))  # rows behind the last vector have none
    return mix_queries(one[:pairs], other[:pairs], rng)


def _read_vectors(store: PostgresStore, seqs: Sequence[int]) -> Vectors:
    statement = _VECTORS_NEAR.format(table=store.settings["vectors"])
    rows = store.read(lambda db: db.execute(statement, (list(seqs),)).fetchall())
    return np.array([unpack_vector(bytes(row[0])) for row in rows], np.float32).reshape(len(rows), -1)
