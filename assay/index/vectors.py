"""The vector index of a generation: exact when small, FAISS IVF above; every proposal is rescored exactly.

Scores are dot products of unit vectors, summed in float64 row by row: the same bits whatever the number of
threads, the index that proposed, or the rows beside it. FAISS decides only who is looked at.
"""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.types import Floats, Rows, Vector, Vectors
from assay.where import Mask

IVF_FROM = 10_000
"""Vectors from which an inverted file is built; below, looking at all of them is as fast."""
_GATHER = 4_096
"""Up to so many eligible rows are scored one by one instead of searched."""
_RECALL = 0.99
_CALIBRATION_DEPTH = 100


class VectorIndex:
    """Read-only view of the vectors in a generation's folder."""

    def __init__(self, folder: Path, size: int, dim: int) -> None:
        self._folder = folder
        self.size, self.dim = size, dim
        shape = (size, dim)
        self.matrix: Vectors = (
            np.memmap(folder / "vectors", np.float32, "r", shape=shape).view(np.ndarray)
            if size
            else np.empty(shape, np.float32)
        )
        self.has = np.fromfile(folder / "vectors.has", np.bool_)
        self.count = int(np.count_nonzero(self.has))
        self._made: dict[int, Any] = {}
        self.probes = int(json.loads((folder / "vectors.json").read_text())["nprobe"])

    @cached_property
    def _inverted(self) -> Any:
        import faiss

        return faiss.read_index(str(self._folder / "vectors.ivf"), faiss.IO_FLAG_MMAP_IFC)

    def _settings(self, probes: int, selector: Any = None) -> Any:
        """FAISS's settings of one search; those without a selector are made once, because making them is slow."""
        if selector is None and probes in self._made:
            return self._made[probes]
        import faiss

        kind: Any = faiss.SearchParametersIVF
        made = kind(sel=selector, nprobe=probes)
        if selector is None:
            self._made[probes] = made
        return made

    def nearest(self, query: Vector, k: int, eligible: Mask | None) -> tuple[Rows, Floats]:
        """The k best eligible rows with their exact scores (not yet in the one order, ties at the end included)."""
        rows = self._propose(query, k, eligible)
        return rows, exact_scores(self.matrix[rows], query)

    def _propose(self, query: Vector, k: int, eligible: Mask | None) -> Rows:
        allowed = self.has if eligible is None else self.has & eligible
        count = self.count if eligible is None else int(np.count_nonzero(allowed))
        if count <= max(k, _GATHER):
            return np.flatnonzero(allowed)
        if not self.probes:
            scores = self.matrix @ query
            scores[~allowed] = -np.inf
            cut = np.partition(scores, self.size - k)[self.size - k]
            return np.flatnonzero(scores >= cut - 1e-5)  # float32 noise must not decide who is looked at
        import faiss

        everything = self._inverted.nlist
        probes = everything if count <= self.size // 10 else self.probes
        fetch = min(count, k + k // 10 + 16)
        selector = None
        if count < self.size:
            bits = np.packbits(allowed, bitorder="little")
            selector = faiss.IDSelectorBitmap(self.size, faiss.swig_ptr(bits))
        while True:
            settings = self._settings(min(probes, everything), selector)
            found = self._inverted.search(query[None, :], fetch, params=settings)[1][0]
            found = found[found >= 0]
            # A list is never short while eligible rows exist: look further until it is full.
            if len(found) == fetch or probes >= everything:
                return np.sort(found).astype(np.int64)
            probes *= 4


def exact_scores(vectors: Vectors, query: Vector) -> Floats:
    """Dot products in float64, each row summed by itself, then rounded to float32's grid."""
    rounded: Vector = np.vecdot(vectors.astype(np.float64), query.astype(np.float64)).astype(np.float32)
    return rounded.astype(np.float64)


def build_vectors(
    folder: Path, size: int, dim: int, has: NDArray[np.bool_], ivf_from: int = IVF_FROM
) -> dict[str, Any]:
    """Index the matrix already written at `folder/vectors`; returns what the manifest records."""
    has.tofile(folder / "vectors.has")
    count = int(np.count_nonzero(has))
    made: dict[str, Any] = {"kind": "exact", "nprobe": 0, "vectors": count}
    if count >= ivf_from:
        made = _build_ivf(folder, np.memmap(folder / "vectors", np.float32, "r", shape=(size, dim)), has)
    (folder / "vectors.json").write_text(json.dumps(made, sort_keys=True))
    return made


def _build_ivf(folder: Path, matrix: Vectors, has: NDArray[np.bool_]) -> dict[str, Any]:
    import faiss

    rows = np.flatnonzero(has)
    lists = _lists(len(rows))
    quantizer = faiss.IndexFlatIP(matrix.shape[1])
    index = faiss.IndexIVFFlat(quantizer, matrix.shape[1], lists, faiss.METRIC_INNER_PRODUCT)
    index.cp.seed, index.cp.niter, index.cp.spherical = 1, 10, True
    index.cp.min_points_per_centroid = 1
    sample = rows[np.linspace(0, len(rows) - 1, min(len(rows), lists * 64)).astype(np.int64)]
    index.train(matrix[sample])
    for start in range(0, len(rows), 65_536):
        part = rows[start : start + 65_536]
        index.add_with_ids(matrix[part], part)
    probes, recall = _calibrate(index, matrix, rows)
    faiss.write_index(index, str(folder / "vectors.ivf"))
    return {
        "kind": "ivf_flat",
        "nlist": lists,
        "nprobe": probes,
        "vectors": len(rows),
        "recall": round(recall, 4),
        "recall_depth": _CALIBRATION_DEPTH,
        "recall_queries": "its own vectors, each without itself",
        # Training rounds differently with other numbers of threads; the lists decide who is looked at, so they are
        # part of what a generation's digest covers.
        "centroids": hashlib.sha256(quantizer.reconstruct_n(0, lists).tobytes()).hexdigest(),
    }


def _lists(count: int) -> int:
    """About 4·√n lists, a power of two: 1,024 at 100k, 4,096 at 1M."""
    return int(2 ** round(np.log2(4.0 * np.sqrt(count)) - 0.25))


def _calibrate(index: Any, matrix: Vectors, rows: Rows) -> tuple[int, float]:
    """The fewest probes that reach the wanted recall at pool depth, measured on the store's own vectors."""
    asked = rows[np.linspace(0, len(rows) - 1, 64).astype(np.int64)]
    queries = np.ascontiguousarray(matrix[asked])
    depth = min(_CALIBRATION_DEPTH + 1, len(rows))
    index.nprobe = index.nlist
    truth = index.search(queries, depth)[1]
    probes, recall = 4, 0.0
    while True:
        index.nprobe = min(probes, index.nlist)
        found = index.search(queries, depth)[1]
        recall = float(np.mean([np.isin(t[1:], f).mean() for t, f in zip(truth, found, strict=True)]))
        if recall >= _RECALL or probes >= index.nlist:
            return int(index.nprobe), recall
        probes = probes * 3 // 2
