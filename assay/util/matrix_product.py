"""Matrix products in blocks that BLAS computes in the calling thread.

On a busy machine the threads of one product wait for each other far longer than the calling thread needs alone. Large
products of background work should use `@` instead.
"""

from __future__ import annotations

import numpy as np

from assay.types import Vectors

SINGLE_THREAD_PRODUCTS = 1 << 18
"""Multiplications up to which OpenBLAS starts no threads."""


def multiply_in_blocks(left: Vectors, right: Vectors) -> Vectors:
    """left · right, a few rows at a time."""
    product = np.empty((len(left), right.shape[1]), np.float32)
    step = max(1, SINGLE_THREAD_PRODUCTS // max(right.size, 1))
    for start in range(0, len(left), step):
        np.matmul(left[start : start + step], right, out=product[start : start + step])
    return product


def multiply_by_transpose(rows: Vectors) -> Vectors:
    """rows · rowsᵀ; what is symmetric is computed once."""
    size, dim = rows.shape
    columns = np.ascontiguousarray(rows.T)
    product = np.empty((size, size), np.float32)
    start = 0
    while start < size:
        stop = start + max(1, SINGLE_THREAD_PRODUCTS // max(dim * (size - start), 1))
        block = rows[start:stop] @ columns[:, start:]
        product[start:stop, start:] = block
        product[start:, start:stop] = block.T
        start = stop
    return product
