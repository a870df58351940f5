"""Products in blocks equal the whole product, and no block is one that BLAS gives to threads."""

from __future__ import annotations

import numpy as np
import pytest

from assay.util import matrix_product
from assay.util.matrix_product import SINGLE_THREAD_PRODUCTS, multiply_by_transpose, multiply_in_blocks

SHAPES = [(0, 4), (1, 1), (7, 3), (65, 384), (200, 384), (2, 300_000)]


def grid(rows: int, dim: int) -> np.ndarray:
    """Small integers, so that every sum is exact in whatever order it is taken."""
    return np.random.default_rng(rows).integers(-9, 10, (rows, dim)).astype(np.float32)


@pytest.mark.parametrize(("rows", "dim"), SHAPES)
def test_blocks_are_the_whole_product(rows, dim):
    left, right = grid(rows, dim), np.ascontiguousarray(grid(rows + 3, dim).T)
    assert multiply_in_blocks(left, right).tobytes() == (left @ right).tobytes()
    assert multiply_by_transpose(left).tobytes() == (left @ np.ascontiguousarray(left.T)).tobytes()


def test_no_block_is_given_to_threads(monkeypatch):
    sizes = []

    class Recorded(np.ndarray):
        def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
            plain = [np.asarray(one) for one in inputs]
            if ufunc is np.matmul:
                sizes.append(plain[0].shape[0] * plain[0].shape[1] * plain[1].shape[1])
            return getattr(ufunc, method)(*plain, out=out, **options)

    rows = grid(200, 384).view(Recorded)
    multiply_by_transpose(rows)
    multiply_in_blocks(rows, np.asarray(rows).T)
    assert len(sizes) > 50
    assert max(sizes) <= SINGLE_THREAD_PRODUCTS
    monkeypatch.setattr(matrix_product, "SINGLE_THREAD_PRODUCTS", 1 << 30)
    multiply_by_transpose(rows)
    assert max(sizes) > SINGLE_THREAD_PRODUCTS  # the recorder does see a whole product
