"""How alike are chunks? Cosines of stored vectors, the same on any number of threads."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.types import Floats


def cosines(many: NDArray[np.float64], one: NDArray[np.float64]) -> Floats:
    """Dot products of unit vectors, which is their cosine; a zero vector is alike to nothing.

    einsum adds in one fixed order, where a matrix product may split its sums by the number of threads.
    """
    products: Floats = np.einsum("ij,j->i", many, one)
    return products
