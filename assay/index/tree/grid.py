"""Unit vectors on a grid of integers, where dot products and sums are exact.

Float32 rounds a sum of products differently with other numbers of threads, and one rounded bit may move a chunk to
another cluster. So vectors are multiplied by `grid_scale` and rounded to integers. By Cauchy-Schwarz all partial sums
of a dot product of two such vectors are integers below 2²⁴, which float32 holds exactly: a matrix product gives the
same bits in any order. The error of a cosine is about 1e-4.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.types import Vectors

GridVectors = NDArray[np.int16]

_BLOCK = 1_024


def grid_scale(dim: int) -> int:
    """Return the length of a unit vector on the grid: rounding adds at most half of √dim, and the sum is below 2¹²."""
    return int(4095 - np.sqrt(dim) / 2)


def to_grid(vectors: NDArray[np.float32 | np.float64 | np.int64]) -> GridVectors:
    """Return the directions of vectors, rounded to the grid; a zero vector stays zero."""
    exact = vectors.astype(np.float64)
    lengths = np.sqrt(np.einsum("ij,ij->i", exact, exact))
    if not np.isfinite(lengths).all():
        raise ValueError("a vector has a component that is not finite")
    exact *= (grid_scale(vectors.shape[1]) / np.where(lengths > 0.0, lengths, 1.0))[:, None]
    return np.rint(exact).astype(np.int16)


def dot(points: GridVectors, centroids: GridVectors) -> Vectors:
    """Return the exact dot product of every point and every centroid, shape [points, centroids]."""
    product: Vectors = points.astype(np.float32) @ centroids.astype(np.float32).T
    return product


def sum_by_label(
    points: GridVectors, weights: NDArray[np.int64], labels: NDArray[np.int64], count: int
) -> NDArray[np.int64]:
    """Return the weighted sum of the points of each label; zero for a label without points."""
    sums = np.zeros((count, points.shape[1]), np.int64)
    order = np.argsort(labels, kind="stable")
    for start in range(0, len(order) if points.shape[1] else 0, _BLOCK):
        part = order[start : start + _BLOCK]
        ordered = labels[part]
        starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
        weighted = points[part] * weights[part, None]
        sums[ordered[starts]] += np.add.reduceat(weighted, starts, axis=0)
    return sums
