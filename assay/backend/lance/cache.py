"""In-memory caches of a Lance store: posting lists, and vectors while they are few.

Both are immutable: `extended` gives a new one with the rows committed since, and snapshots keep theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from assay.backend.lance.store import LanceStore
from assay.backend.shared.postings_bm25 import Posting
from assay.index.vectors import exact_scores
from assay.text.term_encoding import encode_term
from assay.types import Floats, Rows, Vector, Vectors

_MOST_SEGMENTS = 16
_NOISE = 1e-5
"""More than the rounding error of a cosine in float32."""


@dataclass(frozen=True)
class _Segment:
    """Posting lists of some rows: of term t the entries start[t] … start[t + 1]."""

    terms: dict[str, int]
    start: NDArray[np.int64]
    rows: Rows
    counts: Floats


@dataclass(frozen=True)
class PostingsCache:
    """Posting lists of all rows up to one, from their analysed words."""

    store: LanceStore
    segments: tuple[_Segment, ...] = ()
    upto: int = 0

    def extended(self, upto: int) -> PostingsCache:
        """With the rows up to this one."""
        if upto <= self.upto:
            return self
        base = self if len(self.segments) < _MOST_SEGMENTS else PostingsCache(self.store)
        return PostingsCache(self.store, (*base.segments, base._read(upto)), upto)

    def _read(self, upto: int) -> _Segment:
        import pyarrow.compute as pc

        since = self.upto
        table = self.store.tables.read("chunk", ("seq", "body"), f"seq > {since} AND seq <= {upto}").sort_by("seq")
        seqs = table["seq"].to_numpy().astype(np.int64)
        split = pc.ascii_split_whitespace(pc.ascii_trim_whitespace(table["body"].combine_chunks()))
        words = pc.list_flatten(split).dictionary_encode()
        owners = pc.list_parent_indices(split).to_numpy().astype(np.int64)
        size = max(len(seqs), 1)
        keys, counts = np.unique(words.indices.to_numpy().astype(np.int64) * size + owners, return_counts=True)
        names = words.dictionary.to_pylist()
        start = np.searchsorted(keys // size, np.arange(len(names) + 1))
        terms = {name: number for number, name in enumerate(names) if name}
        return _Segment(terms, start, seqs[keys % size] if len(keys) else seqs[:0], np.minimum(counts, 65_535.0))

    def posting(self, term: str) -> Posting:
        name = encode_term(term)
        spans = [(s, slice(s.start[n], s.start[n + 1])) for s in self.segments if (n := s.terms.get(name, -1)) >= 0]
        if not spans:
            return np.empty(0, np.int64), np.empty(0)
        rows = np.concatenate([s.rows[span] for s, span in spans])
        return rows, np.concatenate([s.counts[span] for s, span in spans])


@dataclass(frozen=True)
class VectorCache:
    """The vectors of all rows up to one, by row, ascending."""

    store: LanceStore
    seqs: Rows
    matrix: Vectors
    upto: int = 0
    filled: str = ""

    @staticmethod
    def empty(store: LanceStore) -> VectorCache:
        return VectorCache(store, np.empty(0, np.int64), np.empty((0, store.settings["dim"]), np.float32))

    def extended(self, upto: int, filled: str) -> VectorCache:
        """With the rows up to this one; all are read again when older rows got vectors since."""
        base = self if filled == self.filled else VectorCache.empty(self.store)
        name = self.store.vector_table
        if upto <= base.upto or name not in self.store.tables.names():
            return base
        table = self.store.tables.read(name, ("seq", "value"), f"seq > {base.upto} AND seq <= {upto}")
        seqs = table["seq"].to_numpy().astype(np.int64)
        values = table["value"].combine_chunks().flatten().to_numpy().reshape(-1, self.matrix.shape[1])
        rows, first = np.unique(seqs, return_index=True)  # a row embedded twice has one vector
        joined = np.concatenate([base.seqs, rows]), np.concatenate([base.matrix, values[first]])
        return VectorCache(self.store, *joined, upto, filled)

    @cached_property
    def _has(self) -> NDArray[np.bool_]:
        has: NDArray[np.bool_] = np.asarray(self.matrix.any(axis=1))
        return has

    def get(self, rows: Rows) -> Vectors:
        """Vectors of rows in their order; zero where a row has none."""
        out = np.zeros((len(rows), self.matrix.shape[1]), np.float32)
        if len(self.seqs):
            positions = np.searchsorted(self.seqs, rows)
            has = self.seqs.take(positions, mode="clip") == rows
            out[has] = self.matrix[positions[has]]
        return out

    def nearest(self, query: Vector, k: int, allowed: NDArray[np.bool_]) -> tuple[Rows, Floats]:
        """The best k of the allowed (a mask over `seqs`) with exact scores, ties of the last included."""
        places = np.flatnonzero(allowed & self._has)
        if len(places) > k:
            rough = (self.matrix @ query)[places]  # of all: gathering the allowed ones costs more
            places = places[rough >= np.partition(rough, len(rough) - k)[len(rough) - k] - _NOISE]
        return self.seqs[places], exact_scores(self.matrix, query, places)
