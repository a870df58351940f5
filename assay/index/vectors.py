"""The vector index of a generation: exact when small, FAISS above; every proposal is rescored exactly.

Scores are dot products of unit vectors, summed in float64 row by row: the same bits whatever the number of threads, the
proposing index, or the other rows. FAISS only selects the rows to score, so its lists hold short codes instead of
vectors (docs/decisions/0013). A filter has its own search of the lists (`filtered_search`).
"""

from __future__ import annotations

import json
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.index.checksums import FolderChecks
from assay.index.filtered_search import FILTERS, FilteredSearch, FilterRows, RecentFilters
from assay.index.list_spread import LISTS, SPREAD, ListSpread
from assay.types import Floats, Rows, Vector, Vectors
from assay.util.leg_threads import run_all
from assay.where import Mask

DEPTH = 100
"""The pool depth at which an index is calibrated; a shallower search fetches as many."""
_GATHER = 4_096
"""Up to so many eligible rows are all scored instead of searched."""
EXACT = 8_192
"""Up to so many eligible rows are all scored, in float32 first."""
_BLOCK = 1_024
"""Rows scored at a time: they fit the processor's cache."""
_WIDE = 12_288
"""Numbers converted to float64 at a time: 96 kB."""
_NOISE = 1e-5
"""More than the error of a cosine in float32, which must not exclude a row."""
_LONG = 100_000
"""Codes from which a scan is split between threads."""
_SHARES = 4
_ONE_QUERY = 11
"""FAISS's implementation for one query at a time."""


class VectorIndex:
    """Read-only view of the vectors in a generation's folder."""

    def __init__(self, folder: Path, size: int, dim: int, checks: FolderChecks | None = None) -> None:
        self._folder = folder
        self._checks = checks
        if checks is not None:
            checks.verify("vectors.has", "vectors.json")
        self._row_checks = checks.blocks("vectors") if checks else None
        self.size, self.dim = size, dim
        shape = (size, dim)
        self._matrix: Vectors = (
            np.memmap(folder / "vectors", np.float32, "r", shape=shape).view(np.ndarray)
            if size
            else np.empty(shape, np.float32)
        )
        self.has = np.fromfile(folder / "vectors.has", np.bool_)
        self.count = int(np.count_nonzero(self.has))
        self._params: dict[int, Any] = {}
        facts = json.loads((folder / "vectors.json").read_text())
        self.probes = int(facts["nprobe"])
        """Lists to probe; 0 when there are no lists and every row is scored."""
        self.overfetch = float(facts["overfetch"])
        """Candidates to rescore for each wanted row."""
        self._recent = RecentFilters()

    @property
    def matrix(self) -> Vectors:
        """The vectors of all rows."""
        if self._row_checks is not None:
            self._row_checks.verify_all()
        return self._matrix

    def take(self, rows: Rows) -> Vectors:
        """The vectors of these rows."""
        return self._verified(rows)[rows]

    def _verified(self, rows: Rows) -> Vectors:
        """The matrix, once the vectors of these rows are verified."""
        if self._row_checks is not None:
            self._row_checks.verify_rows(rows, 4 * self.dim)
        return self._matrix

    @cached_property
    def inverted(self) -> Any:
        """FAISS's index of the rows that have a vector."""
        import faiss

        if self._checks is not None:
            self._checks.verify("vectors.ivf")

        index: Any = faiss.read_index(str(self._folder / "vectors.ivf"), faiss.IO_FLAG_MMAP_IFC)
        index.implem = _ONE_QUERY
        return index

    def search_params(self, probes: int, selector: Any = None) -> Any:
        """Return FAISS's parameters of one search; those without a selector are cached: creating them is slow."""
        if selector is None and probes in self._params:
            return self._params[probes]
        import faiss

        kind: Any = faiss.SearchParametersIVF
        params = kind(sel=selector, nprobe=probes)
        if selector is None:
            self._params[probes] = params
        return params

    @cached_property
    def filters(self) -> FilteredSearch | None:
        """The search of lists with a filter; None in an index of an older release, which scores all eligible rows."""
        if not self.probes or not (self._folder / FILTERS).is_file():
            return None
        if self._checks is not None:
            self._checks.verify(LISTS, SPREAD, FILTERS)
        missed = float(json.loads((self._folder / FILTERS).read_text())["missed"])
        return FilteredSearch(
            self, ListSpread.read(self._folder, self.size, self.dim), self.probes, self.overfetch, missed
        )

    def nearest(self, query: Vector, k: int, eligible: Mask | None) -> tuple[Rows, Floats]:
        """Return the k best eligible rows with their exact scores (not yet ordered, ties at the end included)."""
        if eligible is None:
            rows = self._nearest_of_all(query, k)
        else:
            rows = self._nearest_eligible(query, k, self._recent.get(eligible, lambda: FilterRows(self.has & eligible)))
        return rows, exact_scores(self._verified(rows), query, rows)

    def _nearest_of_all(self, query: Vector, k: int) -> Rows:
        if self.count <= max(k, _GATHER):
            return np.flatnonzero(self.has)
        if not self.probes:
            rows = np.flatnonzero(self.has)
            return _prune(rows, self.score(query, rows), k)
        rows = self._propose(query, k)
        return _prune(rows, self.score(query, rows), k) if len(rows) > 2 * k else rows

    def _nearest_eligible(self, query: Vector, k: int, eligible: FilterRows) -> Rows:
        if eligible.count <= max(k, _GATHER):
            return eligible.rows
        if eligible.count <= EXACT or self.filters is None:
            return _prune(eligible.rows, self.score(query, eligible.rows), k)
        return _prune(*self.filters.nearest(query, min(max(k, DEPTH), eligible.count), eligible), k)

    def score(self, query: Vector, rows: Rows) -> Vector:
        """Return the scores of these rows in float32, the same whatever the threads."""
        matrix, scores = self._verified(rows), np.empty(len(rows), np.float32)

        def fill(first: int, end: int) -> None:
            for start in range(first, end, _BLOCK):
                part = slice(start, min(start + _BLOCK, end))
                np.vecdot(np.take(matrix, rows[part], axis=0), query, out=scores[part])

        if len(rows) < _SHARES * _BLOCK:
            fill(0, len(rows))
        else:
            ends = np.linspace(0, len(rows), _SHARES + 1).astype(int).tolist()
            run_all([partial(fill, first, end) for first, end in pairwise(ends)])
        return scores

    def scan(self, query: Vector, lists: Rows, fetch: int, allowed: Mask) -> Rows:
        """Return at most `fetch` allowed rows of these lists, the best by their codes first."""
        import faiss

        bits = np.packbits(allowed, bitorder="little")
        selector = faiss.IDSelectorBitmap(self.size, faiss.swig_ptr(bits))
        near = np.vecdot(self._centroids[lists], query)
        one = np.ascontiguousarray(query[None, :], np.float32)
        rows = self._scan_preassigned(one, fetch, near[None, :], lists[None, :], selector)
        found: Rows = rows[rows >= 0]
        return found

    @cached_property
    def _centroids(self) -> Vectors:
        import faiss

        flat: Any = faiss.downcast_index(self.inverted.quantizer)
        return np.array(faiss.rev_swig_ptr(flat.get_xb(), flat.ntotal * self.dim)).reshape(flat.ntotal, self.dim)

    def _propose(self, query: Vector, k: int) -> Rows:
        """Return FAISS's candidates by their codes; probes more lists while fewer than wanted are found."""
        all_lists = self.inverted.nlist
        fetch = min(self.count, int(self.overfetch * max(k, DEPTH)))
        probes = self.probes
        while True:
            rows = self._scan_lists(np.ascontiguousarray(query[None, :], np.float32), fetch, min(probes, all_lists))
            if rows[-1] >= 0 or probes >= all_lists:
                found: Rows = rows[rows >= 0]
                return found
            probes *= 4

    def _scan_lists(self, query: Vectors, fetch: int, probes: int) -> Rows:
        """Return the best rows of the nearest lists by their codes, best first; -1 where there are fewer."""
        if probes < 2 or probes * self.count < _LONG * self.inverted.nlist:
            found: Rows = self.inverted.search(query, fetch, params=self.search_params(probes))[1][0]
            return found
        return self._scan_preassigned(query, fetch, *self.inverted.quantizer.search(query, probes))

    def _scan_preassigned(self, query: Vectors, fetch: int, near: Vectors, lists: Rows, selector: Any = None) -> Rows:
        """Return the best rows of these lists by their codes, best first; -1 where there are fewer.

        The scan is split into shares, which free threads run. The split does not depend on the threads, because the
        score of a code depends on the lists that are scanned together.
        """
        slices = [slice(part, None, _SHARES) for part in range(min(_SHARES, lists.shape[1]))]
        shares = run_all([partial(self._search_lists, query, fetch, lists[:, s], near[:, s], selector) for s in slices])
        best = np.argsort(-np.concatenate([scores for scores, _ in shares]), kind="stable")[:fetch]
        return np.concatenate([rows for _, rows in shares])[best]

    def _search_lists(
        self, query: Vectors, fetch: int, lists: Rows, near: Vectors, selector: Any
    ) -> tuple[NDArray[np.float32], Rows]:
        """Return the best rows of these lists; FAISS's C++ function takes parameters here, its wrapper does not."""
        import faiss

        scores, rows = np.empty(fetch, np.float32), np.empty(fetch, np.int64)
        lists, near = np.ascontiguousarray(lists), np.ascontiguousarray(near)
        pointers = [faiss.swig_ptr(array) for array in (query, lists, near, scores, rows)]
        params = self.search_params(lists.shape[1], selector)
        self.inverted.search_preassigned_c(1, pointers[0], fetch, *pointers[1:], False, params)
        return scores, rows


def _prune(rows: Rows, rough: Vector, k: int) -> Rows:
    """Return the rows that can be among the k best, given the error of float32."""
    if len(rows) <= k:
        return rows
    cut = np.partition(rough, len(rows) - k)[len(rows) - k]
    best: Rows = rows[rough >= cut - _NOISE]
    return best


def exact_scores(vectors: Vectors, query: Vector, rows: Rows | None = None) -> Floats:
    """Return dot products of all vectors, or of these rows, each summed in float64, then rounded to float32."""
    wide = query.astype(np.float64)
    scores = np.empty(len(vectors) if rows is None else len(rows), np.float32)
    # Blocks fit the processor's cache: a large temporary array costs more than the sums.
    step = max(1, _WIDE // len(query))
    for start in range(0, len(scores), step):
        part = slice(start, start + step)
        block = vectors[part] if rows is None else vectors[rows[part]]
        scores[part] = np.vecdot(block.astype(np.float64), wide)
    return scores.astype(np.float64)
