"""Scores every row for a query at once: what a router that pools the scores of rows reads.

BM25 scores are those of a search. Cosines are dot products of vectors rounded to a grid on which sums are exact
(`index.tree.grid`): as fast as float32, and the same bits in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from assay.backend.shared.bm25 import LexicalView, score_all
from assay.backend.shared.query_terms import QueryTerms
from assay.index.tree.grid import grid_scale
from assay.protocols import RowScores
from assay.types import Floats, Rows, Vector, Vectors
from assay.util.leg_threads import run_all
from assay.where import Mask

_BLOCK = 256
"""Vectors that are rounded at a time: they stay in the processor's cache."""
_LONG = 50_000
"""Vectors from which the work is split between threads."""
_FEW = 4
"""Below this share, 1/4, of all rows only the vectors of visible rows are read."""


def score_all_rows(
    view: LexicalView, query: QueryTerms, visible: Mask, vector: Vector | None, blocks: Sequence[Vectors]
) -> RowScores:
    """Return both scores of all visible rows. `blocks` are the vectors of all rows, one matrix after the other."""
    rows = np.flatnonzero(visible)
    scores, ideal = score_all(view, query)
    cosines = np.zeros(len(rows)) if vector is None else _find_cosines(blocks, vector, rows)
    return RowScores(rows, scores[rows], cosines, ideal)


def _find_cosines(blocks: Sequence[Vectors], vector: Vector, rows: Rows) -> Floats:
    columns, start = [], 0
    for block in blocks:
        inside = rows[(rows >= start) & (rows < start + len(block))] - start
        start += len(block)
        if block.shape[1] != len(vector):
            columns.append(np.zeros(len(inside)))
        elif len(inside) * _FEW < len(block):
            columns.append(grid_cosines(block[inside], vector))
        else:
            columns.append(grid_cosines(block, vector)[inside])
    return np.concatenate([np.empty(0), *columns])


def grid_cosines(vectors: Vectors, query: Vector) -> Floats:
    """Return the cosines of unit vectors with a unit vector, from exact sums of rounded components."""
    scale = np.float32(grid_scale(len(query)))
    rounded = np.rint(query * scale)
    sums = np.empty(len(vectors), np.float32)
    half = len(vectors) // 2 if len(vectors) >= _LONG else len(vectors)
    parts = [slice(0, half), slice(half, len(vectors))] if half < len(vectors) else [slice(0, half)]
    run_all([partial(_dot_rounded, vectors[part], rounded, scale, sums[part]) for part in parts])
    return sums.astype(np.float64) / float(scale) ** 2


def _dot_rounded(vectors: Vectors, query: Vector, scale: np.float32, sums: Vector) -> None:
    buffer = np.empty((_BLOCK, len(query)), np.float32)
    for start in range(0, len(vectors), _BLOCK):
        part = vectors[start : start + _BLOCK]
        rounded = buffer[: len(part)]
        np.multiply(part, scale, out=rounded)
        np.rint(rounded, out=rounded)
        np.dot(rounded, query, out=sums[start : start + len(part)])
