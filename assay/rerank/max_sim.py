"""MaxSim: the mean, over the tokens of one side, of the best cosine with a token of the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.embed.token_codes import Codes, unpack_codes
from assay.types import Floats, Vectors
from assay.util.matrix_product import multiply_in_blocks

BLOCK = 512
"""Rows unpacked at a time, so that they are still in the processor's cache when they are multiplied."""


def max_sim(query: Codes, texts: Sequence[Codes], *, both: bool = False) -> Floats:
    """Score how similar each text is to the query, from the cosines c_ij = q_i · d_j / (|q_i| |d_j|) of their tokens.

        MaxSim(q, d)             mean over tokens i of q of  max over tokens j of d of  c_ij
        both                     (MaxSim(q, d) + MaxSim(d, q)) / 2

    The query has 8-bit codes, texts have 8-bit codes or signs; the cosine with a row of signs is about √(2/π) of the
    true one, for every text alike. NaN for a text without tokens, and for all when the query has none. Every dot
    product is an integer below 2²⁴, which float32 holds exactly whatever the order of addition (law 5).
    """
    sizes = np.array([len(text) for text in texts], np.intp)
    likeness = np.full(len(texts), np.nan)
    has_tokens = sizes > 0
    if not len(query) or not has_tokens.any():
        return likeness
    cosines = _cosines(query, np.concatenate(texts))
    starts = (np.cumsum(sizes) - sizes)[has_tokens]
    likeness[has_tokens] = np.maximum.reduceat(cosines, starts).mean(axis=1)
    if both:
        reverse = np.add.reduceat(cosines.max(axis=1), starts) / sizes[has_tokens]
        likeness[has_tokens] = (likeness[has_tokens] + reverse) / 2.0
    return likeness


def _cosines(query: Codes, text_codes: Codes) -> Floats:
    """float64[tokens of the texts, tokens of the query]."""
    dim = query.shape[1]
    query_rows = unpack_codes(query, dim)
    columns = np.ascontiguousarray(query_rows.T)
    cosines = np.empty((len(text_codes), len(query)))
    for start in range(0, len(text_codes), BLOCK):
        rows = unpack_codes(text_codes[start : start + BLOCK], dim)
        # All rows of signs have the same length.
        scale = dim**-0.5 if text_codes.dtype == np.uint8 else _inverse_lengths(rows)[:, np.newaxis]
        np.multiply(multiply_in_blocks(rows, columns), scale, out=cosines[start : start + BLOCK], dtype=np.float64)
    cosines *= _inverse_lengths(query_rows)
    return cosines


def _inverse_lengths(rows: Vectors) -> Floats:
    """1 / |row|; 0 for a row of zeros."""
    length = np.sqrt(np.einsum("td,td->t", rows, rows).astype(np.float64))
    scale: Floats = np.divide(1.0, length, out=np.zeros(len(length)), where=length > 0.0)
    return scale
