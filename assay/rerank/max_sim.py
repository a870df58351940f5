"""MaxSim: every token of one side looks for its best match on the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.embed.tokens import Codes, unfold
from assay.types import Floats, Vectors

CALM = 1 << 18
"""Multiplications up to which OpenBLAS stays in the calling thread."""
BLOCK = 512
"""Rows unfolded at a time, so that they are still in the processor's cache when they are multiplied."""


def max_sim(query: Codes, texts: Sequence[Codes], *, both: bool = False) -> Floats:
    """How like the query each text is, by the cosines c_ij = q_i · d_j / (|q_i| |d_j|) of their tokens.

        MaxSim(q, d)             mean over tokens i of q of  max over tokens j of d of  c_ij
        both                     (MaxSim(q, d) + MaxSim(d, q)) / 2

    The query comes as numbers (8 bits), texts as numbers or as signs; the cosine with a row of signs is about √(2/π)
    of the true one, the same for all. NaN for a text without tokens, and for all when the query has none. Every dot
    product is a whole number below 2²⁴, which float32 holds exactly in whatever order a library adds (law 5).
    """
    sizes = np.array([len(text) for text in texts], np.intp)
    likeness = np.full(len(texts), np.nan)
    here = sizes > 0
    if not len(query) or not here.any():
        return likeness
    cosines = _cosines(query, np.concatenate(texts))
    starts = (np.cumsum(sizes) - sizes)[here]
    likeness[here] = np.maximum.reduceat(cosines, starts).mean(axis=1)
    if both:
        likeness[here] = (likeness[here] + np.add.reduceat(cosines.max(axis=1), starts) / sizes[here]) / 2.0
    return likeness


def _cosines(query: Codes, told: Codes) -> Floats:
    """float64[tokens of the texts, tokens of the query]."""
    dim = query.shape[1]
    asked = unfold(query, dim)
    columns = np.ascontiguousarray(asked.T)
    cosines = np.empty((len(told), len(query)))
    for start in range(0, len(told), BLOCK):
        rows = unfold(told[start : start + BLOCK], dim)
        # Signs are all of one length.
        shrink = dim**-0.5 if told.dtype == np.uint8 else _shrink(rows)[:, np.newaxis]
        np.multiply(_product(rows, columns), shrink, out=cosines[start : start + BLOCK], dtype=np.float64)
    cosines *= _shrink(asked)
    return cosines


def _product(left: Vectors, right: Vectors) -> Vectors:
    """left · right, a few rows at a time: on a busy machine the threads of one large product wait for each other much
    longer than the calling thread needs to do the work alone."""
    made = np.empty((len(left), right.shape[1]), np.float32)
    step = max(1, CALM // right.size)
    for start in range(0, len(left), step):
        np.matmul(left[start : start + step], right, out=made[start : start + step])
    return made


def _shrink(rows: Vectors) -> Floats:
    """1 / |row|; 0 for a row of zeros, which is like nothing."""
    length = np.sqrt(np.einsum("td,td->t", rows, rows).astype(np.float64))
    shrink: Floats = np.divide(1.0, length, out=np.zeros(len(length)), where=length > 0.0)
    return shrink
