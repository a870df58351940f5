"""Builds the vector index of a generation: trained with a seed, calibrated on synthetic queries.

The lists hold residuals quantised to four bits for each dimension (a product quantiser in FAISS's fast-scan layout):
an eighth of the vectors' bytes, scanned in registers. Over-fetching and exact rescoring make up for the lossy codes.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.index.filter_calibration import calibrate_filters, write_calibration
from assay.index.list_spread import measure_spread
from assay.index.recall import EXACT_KIND, QUERIES, mean_recall, mix_queries
from assay.index.vectors import DEPTH, EXACT, VectorIndex
from assay.types import Rows, Vectors

IVF_FROM = 10_000
"""Vectors from which an inverted file is built; below, scoring all of them is as fast."""
_RECALL = 0.9975
"""Recall relative to probing all lists; real queries are a little harder."""
_LOST_BY_CODES = 0.005
"""The most recall that codes may lose when all lists are probed."""
_OVERFETCH = (1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0)
_FEWEST = 40
"""At least one list in so many is probed: in large stores synthetic queries become easier than real ones."""
_LARGE, _RECALL_LARGE = 1_024, 0.995
"""Above so many lists synthetic queries are harder than real ones, and a probe is expensive: the wanted recall is
lower, and the probes are chosen to within a sixty-fourth instead of an eighth (docs/decisions/0013)."""
_RECALL_FILTERED = 0.995
"""Recall that filters of every kind should reach, if the search without a filter does not reach more."""
_QUERIES = 128
_BLOCK = 65_536


def build_vectors(
    folder: Path, size: int, dim: int, has: NDArray[np.bool_], ivf_from: int = IVF_FROM
) -> dict[str, Any]:
    """Index the matrix already written at `folder/vectors`; return the facts for the manifest."""
    has.tofile(folder / "vectors.has")
    count = int(np.count_nonzero(has))
    facts: dict[str, Any] = {"kind": EXACT_KIND, "nprobe": 0, "overfetch": 1.0, "vectors": count}
    if count < ivf_from:
        (folder / "vectors.json").write_text(json.dumps(facts, sort_keys=True))
        return facts
    matrix = np.memmap(folder / "vectors", np.float32, "r", shape=(size, dim))
    facts, lists = _build_ivf(folder, matrix, has)
    (folder / "vectors.json").write_text(json.dumps(facts, sort_keys=True))
    measure_spread(matrix, lists, facts["nlist"]).write(folder)
    _calibrate_filters(folder, matrix, has, facts["recall"])
    return facts


def _calibrate_filters(folder: Path, matrix: Vectors, has: NDArray[np.bool_], wanted: float) -> None:
    """Calibrate the search with a filter on the index as it will be read."""
    write_calibration(folder, {"missed": 0.0})
    index = VectorIndex(folder, *matrix.shape)
    assert index.filters is not None
    queries = _sample_queries(matrix, np.flatnonzero(has))
    goal = max(wanted, _RECALL_FILTERED)
    write_calibration(
        folder, calibrate_filters(index.filters, matrix, has, queries, min(DEPTH, index.count), goal, EXACT)
    )


def _build_ivf(folder: Path, matrix: Vectors, has: NDArray[np.bool_]) -> tuple[dict[str, Any], NDArray[np.int32]]:
    """Train, fill, calibrate and write the inverted file; return its facts and the list of every row."""
    import faiss

    rows = np.flatnonzero(has)
    dim = matrix.shape[1]
    lists = _list_count(len(rows))
    quantizer = faiss.IndexFlatIP(dim)
    index = faiss.IndexIVFPQFastScan(quantizer, dim, lists, dim, 4, faiss.METRIC_INNER_PRODUCT)
    index.by_residual = True
    index.cp.seed, index.cp.niter, index.cp.spherical = 1, 10, True
    index.pq.cp.seed = 1
    index.cp.min_points_per_centroid = index.pq.cp.min_points_per_centroid = 1
    sample = rows[np.linspace(0, len(rows) - 1, min(len(rows), lists * 64)).astype(np.int64)]
    index.train(matrix[sample])
    for start in range(0, len(rows), _BLOCK):
        part = rows[start : start + _BLOCK]
        index.add_with_ids(matrix[part], part)
    calibration = _calibrate(index, matrix, rows)
    path = folder / "vectors.ivf"
    faiss.write_index(index, str(path))
    with path.open("rb") as file:
        # Training rounds differently with other numbers of threads; the lists and codes select the scored rows, so
        # a generation's digest covers them.
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    facts = {
        "kind": "ivf_pq_fastscan",
        "nlist": lists,
        "vectors": len(rows),
        **calibration,
        "recall_depth": DEPTH,
        "recall_queries": QUERIES,
        "file": digest,
    }
    return facts, _lists_of_rows(index, len(matrix))


def _lists_of_rows(index: Any, size: int) -> NDArray[np.int32]:
    """Return the list of every row, -1 without a vector."""
    import faiss

    lists = np.full(size, -1, np.int32)
    for number in range(index.nlist):
        if count := index.invlists.list_size(number):
            lists[faiss.rev_swig_ptr(index.invlists.get_ids(number), count)] = number
    return lists


def _list_count(count: int) -> int:
    """About 4·√n lists, a power of two: 1,024 at 100k, 4,096 at 1M."""
    return int(2 ** round(np.log2(4.0 * np.sqrt(count)) - 0.25))


def _calibrate(index: Any, matrix: Vectors, rows: Rows) -> dict[str, Any]:
    """Return the least over-fetch and then the fewest probes that reach the wanted recall at pool depth."""
    queries = _sample_queries(matrix, rows)
    truth = _exact_nearest(matrix, rows, queries, min(DEPTH, len(rows)))

    def recall(probes: int, overfetch: float) -> float:
        index.nprobe = probes
        found = index.search(queries, min(int(overfetch * DEPTH), len(rows)))[1]
        return mean_recall(truth, found)

    for overfetch in _OVERFETCH:
        reached = recall(index.nlist, overfetch)
        if reached >= 1.0 - _LOST_BY_CODES:
            break
    # Probing more lists cannot recover what the codes lose: probes are chosen relative to probing all lists.
    wanted = (_RECALL_LARGE if index.nlist > _LARGE else _RECALL) * reached
    below, probes = 0, max(4, index.nlist // _FEWEST)
    while (share := recall(probes, overfetch)) < wanted and probes < index.nlist:
        below, probes = probes, min(probes + max(1, probes // 8), index.nlist)
    while below and index.nlist > _LARGE and probes - below > max(1, probes // 64):
        middle = (below + probes) // 2
        if (recall_there := recall(middle, overfetch)) >= wanted:
            probes, share = middle, recall_there
        else:
            below = middle
    return {"nprobe": probes, "overfetch": overfetch, "recall": round(share, 4)}


def _sample_queries(matrix: Vectors, rows: Rows) -> Vectors:
    rng = np.random.default_rng(1)
    one, other = (matrix[rng.choice(rows, _QUERIES)] for _ in range(2))
    return mix_queries(one, other, rng)


def _exact_nearest(matrix: Vectors, rows: Rows, queries: Vectors, depth: int) -> Rows:
    """Return the rows of the `depth` nearest vectors of each query, by scoring all of them."""
    best, scores = np.empty((len(queries), 0), np.int64), np.empty((len(queries), 0), np.float32)
    for start in range(0, len(rows), _BLOCK):
        part = rows[start : start + _BLOCK]
        best = np.concatenate([best, np.broadcast_to(part, (len(queries), len(part)))], axis=1)
        scores = np.concatenate([scores, queries @ matrix[part].T], axis=1)
        if scores.shape[1] > depth:
            near = np.argpartition(-scores, depth - 1, axis=1)[:, :depth]
            best, scores = np.take_along_axis(best, near, 1), np.take_along_axis(scores, near, 1)
    return best
