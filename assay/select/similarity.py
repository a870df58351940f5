"""Cosines of stored vectors, with the same bits on any number of threads."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.types import Floats


def cosines(many: NDArray[np.float64], one: NDArray[np.float64]) -> Floats:
    """Cosines of unit vectors with one of them; 0 for a zero vector.

    einsum adds in a fixed order; a matrix product may split its sums by the number of threads.
    """
    products: Floats = np.einsum("ij,j->i", many, one)
    return products
