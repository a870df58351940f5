"""The vector index of a generation: exact when small, FAISS above; every proposal is rescored exactly.

Scores are dot products of unit vectors, summed in float64 row by row: the same bits whatever the number of
threads, the index that proposed, or the rows beside it. FAISS decides only who is looked at, so its lists hold
short codes instead of vectors (docs/decisions/0013).
"""

from __future__ import annotations

import json
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.types import Floats, Rows, Vector, Vectors
from assay.util.leg_threads import run_all
from assay.where import Mask

DEPTH = 100
"""The pool depth at which an index is calibrated; a shallower search looks at as many."""
_GATHER = 4_096
"""Up to so many eligible rows are scored one by one instead of searched."""
_BLOCK = 4_096
_WIDE = 12_288
"""Numbers that are widened to float64 at a time: 96 kB."""
_NOISE = 1e-5
"""More than float32 can be wrong about a cosine; it must not decide who is looked at."""
_LONG = 100_000
"""Codes from which a scan is worth sharing."""
_SHARES = 4
_ONE_QUERY = 11
"""FAISS's way of scanning for one query at a time."""


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
        said = json.loads((folder / "vectors.json").read_text())
        self.probes = int(said["nprobe"])
        """Lists to look into; 0 when there are none and everybody is looked at."""
        self.overfetch = float(said["overfetch"])
        """How many candidates to rescore for each wanted one."""

    @cached_property
    def inverted(self) -> Any:
        """FAISS's index of the rows that have a vector."""
        import faiss

        index: Any = faiss.read_index(str(self._folder / "vectors.ivf"), faiss.IO_FLAG_MMAP_IFC)
        index.implem = _ONE_QUERY
        return index

    def settings(self, probes: int, selector: Any = None) -> Any:
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
        allowed = self.has if eligible is None else self.has & eligible
        count = self.count if eligible is None else int(np.count_nonzero(allowed))
        if count <= max(k, _GATHER):
            rows = np.flatnonzero(allowed)
        elif not self.probes or count <= self.size // 10:
            rows = _best(*self._looked_through(query, allowed), k)
        else:
            rows = self._proposed(query, k, allowed, count)
            if len(rows) > 2 * k:
                rows = _best(rows, self.matrix[rows] @ query, k)
        return rows, exact_scores(self.matrix, query, rows)

    def _looked_through(self, query: Vector, allowed: Mask) -> tuple[Rows, Vector]:
        """Every allowed row with its score in float32."""
        rough = []
        for start in range(0, self.size, _BLOCK):
            part = slice(start, start + _BLOCK)
            kept = allowed[part]
            rough.append((self.matrix[part] if kept.all() else self.matrix[part][kept]) @ query)
        return np.flatnonzero(allowed), np.concatenate(rough)

    def _proposed(self, query: Vector, k: int, allowed: Mask, count: int) -> Rows:
        """FAISS's candidates by their codes. A list is never short while eligible rows exist: it looks further."""
        everything = self.inverted.nlist
        fetch = min(count, int(self.overfetch * max(k, DEPTH)))
        selector = None
        if count < self.count:
            import faiss

            bits = np.packbits(allowed, bitorder="little")
            selector = faiss.IDSelectorBitmap(self.size, faiss.swig_ptr(bits))
        probes = self.probes
        while True:
            found = self._scanned(
                np.ascontiguousarray(query[None, :], np.float32), fetch, min(probes, everything), selector
            )
            if found[-1] >= 0 or probes >= everything:
                full: Rows = found[found >= 0]
                return full
            probes *= 4

    def _scanned(self, query: Vectors, fetch: int, probes: int, selector: Any) -> Rows:
        """The best of the nearest lists by their codes, best first; -1 where there are fewer.

        A long scan is cut into shares, which threads that are free take over. It is always cut alike, whether there is
        one or not, because what a code is worth depends on the lists that are looked into together.
        """
        if probes < 2 or probes * self.count < _LONG * self.inverted.nlist:
            found: Rows = self.inverted.search(query, fetch, params=self.settings(probes, selector))[1][0]
            return found
        near, lists = self.inverted.quantizer.search(query, probes)
        some = [slice(part, None, _SHARES) for part in range(min(_SHARES, probes))]
        shares = run_all([partial(self._in_lists, query, fetch, lists[:, s], near[:, s], selector) for s in some])
        best = np.argsort(-np.concatenate([scores for scores, _ in shares]), kind="stable")[:fetch]
        return np.concatenate([rows for _, rows in shares])[best]

    def _in_lists(
        self, query: Vectors, fetch: int, lists: Rows, near: Vectors, selector: Any
    ) -> tuple[NDArray[np.float32], Rows]:
        """The best rows of these lists; FAISS's own wrapper takes no settings here, what it wraps does."""
        import faiss

        scores, rows = np.empty(fetch, np.float32), np.empty(fetch, np.int64)
        lists, near = np.ascontiguousarray(lists), np.ascontiguousarray(near)
        given = [faiss.swig_ptr(array) for array in (query, lists, near, scores, rows)]
        settings = self.settings(lists.shape[1], selector)
        self.inverted.search_preassigned_c(1, given[0], fetch, *given[1:], False, settings)
        return scores, rows


def _best(rows: Rows, rough: Vector, k: int) -> Rows:
    """Those of these rows that can be among their k best, whatever float32 got wrong."""
    if len(rows) <= k:
        return rows
    cut = np.partition(rough, len(rows) - k)[len(rows) - k]
    best: Rows = rows[rough >= cut - _NOISE]
    return best


def exact_scores(vectors: Vectors, query: Vector, rows: Rows | None = None) -> Floats:
    """Dot products of all vectors, or of these rows, in float64, each summed by itself, then on float32's grid."""
    wide = query.astype(np.float64)
    scores = np.empty(len(vectors) if rows is None else len(rows), np.float32)
    # Blocks that stay in the processor's cache: a large temporary costs more than the sums.
    step = max(1, _WIDE // len(query))
    for start in range(0, len(scores), step):
        part = slice(start, start + step)
        some = vectors[part] if rows is None else vectors[rows[part]]
        scores[part] = np.vecdot(some.astype(np.float64), wide)
    return scores.astype(np.float64)
