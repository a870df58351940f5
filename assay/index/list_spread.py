"""How the vectors of each inverted list scatter around their mean: predicts how many rows of a list beat a score.

The score of a row of a list is taken as normal. Its expectation is the dot product of the query with the list's mean.
Its variance is that along the list's main axis, since most lists are a few families of vectors, plus the list's other
scatter times the variance of all other residuals along the query. The upper bound exp(−z²/2) / 2 of the normal tail is
used, and the deviation is widened, because real lists have longer tails. All that a prediction needs of a filter is
the number of eligible rows of each list, so it holds for filters that keep whole regions of the space
(docs/decisions/0064).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.types import Floats, Rows, Vector, Vectors

LISTS, SPREAD = "vectors.lists", "vectors.spread"
_SAMPLE = 32
"""Rows of each list from which the common covariance is estimated."""
_LEAST = 1e-9
_FEW = 8
"""A list with fewer rows has the scatter of all lists: its own would be an accident."""


_WIDEN = 1.3
"""By how much the tails of real lists are longer than normal ones; measured at a million vectors."""
_STEPS = 4
"""Steps of power iteration: an axis need not be exact."""


@dataclass(frozen=True, slots=True, eq=False)
class ListSpread:
    """The list of every row, −1 without a vector, and where the vectors of each list are."""

    lists: NDArray[np.int32]
    sizes: Rows
    means: Vectors
    axes: Vectors
    """The main axis of each list, as long as the standard deviation along it."""
    scatter: Vector
    """The sum of the variances of each list in all other directions."""
    covariance: Vectors
    """Of the residuals without their main axis, each divided by its list's scatter."""

    @classmethod
    def read(cls, folder: Path, size: int, dim: int) -> ListSpread:
        lists = np.fromfile(folder / LISTS, np.int32)
        numbers = np.memmap(folder / SPREAD, np.float32, "r").view(np.ndarray)
        count = (len(numbers) - dim * dim) // (2 * dim + 1)
        ends = np.cumsum([count * dim, count * dim, count, dim * dim])
        if len(lists) != size or len(numbers) != ends[-1]:
            raise ValueError(f"{folder / SPREAD} does not belong to {size} vectors of {dim} numbers")
        means, axes, scatter, covariance = np.split(numbers, ends[:-1])
        sizes = np.bincount(lists[lists >= 0], minlength=count)
        shape = (count, dim)
        return cls(lists, sizes, means.reshape(shape), axes.reshape(shape), scatter, covariance.reshape(dim, dim))

    def write(self, folder: Path) -> None:
        self.lists.tofile(folder / LISTS)
        with (folder / SPREAD).open("wb") as file:
            for numbers in (self.means, self.axes, self.scatter, self.covariance):
                numbers.astype(np.float32).tofile(file)

    def count_rows(self, allowed: NDArray[np.bool_], count: int) -> Rows:
        """Return how many of the allowed rows, `count` in all, each list has; the smaller half is counted."""
        total = len(self.sizes)
        if 2 * count <= len(self.lists):
            return np.bincount(self.lists[np.flatnonzero(allowed)], minlength=total)
        others = self.lists[np.flatnonzero(~allowed)]
        return self.sizes - np.bincount(others[others >= 0], minlength=total)

    def expect(self, query: Vector) -> tuple[Vector, Vector]:
        """Return the expectation and the widened standard deviation of a row's score in each list.

        Every sum is one row's own, so that the number of threads changes no bit.
        """
        along = float(np.vecdot(np.vecdot(self.covariance, query), query))
        variance = np.vecdot(self.axes, query) ** 2 + self.scatter * max(along, 0.0)
        return np.vecdot(self.means, query), _WIDEN * np.sqrt(np.maximum(variance, _LEAST))


def expected_above(score: float, counts: Rows, mean: Vector, deviation: Vector) -> Floats:
    """Return how many of `counts` rows of each list are expected to beat a score, at most."""
    z = np.maximum((score - mean) / deviation, 0.0)
    tail: Floats = np.where(mean < score, 0.5 * np.exp(-0.5 * z * z), 1.0) * counts
    return tail


def measure_spread(matrix: Vectors, lists: NDArray[np.int32], count: int) -> ListSpread:
    """Compute the mean, the main axis and the scatter of each of `count` lists, and the covariance of the rest."""
    dim = matrix.shape[1]
    order = np.argsort(lists, kind="stable")
    sizes = np.bincount(lists[lists >= 0], minlength=count)
    ends = np.cumsum(sizes) + int(np.count_nonzero(lists < 0))
    means, axes = np.zeros((2, count, dim), np.float32)
    scatter = np.full(count, np.nan, np.float32)
    covariance, sampled = np.zeros((dim, dim), np.float32), 0
    for place in np.flatnonzero(sizes).tolist():
        vectors = matrix[order[ends[place] - sizes[place] : ends[place]]]
        means[place] = vectors.mean(axis=0)
        if len(vectors) < _FEW:
            continue
        residuals = vectors - means[place]
        axis = _main_axis(residuals)
        along = residuals @ axis
        axes[place] = axis * np.sqrt(np.mean(along**2), dtype=np.float32)
        residuals -= along[:, None] * axis
        scatter[place] = np.mean(np.vecdot(residuals, residuals))
        some = residuals[:: -(-len(vectors) // _SAMPLE)] / np.float32(np.sqrt(max(scatter[place], _LEAST)))
        covariance += some.T @ some
        sampled += len(some)
    common = float(np.nanmean(scatter)) if sampled else 1.0
    covariance = (covariance / sampled if sampled else np.eye(dim) / dim).astype(np.float32)
    scatter = np.where(np.isnan(scatter), common, scatter).astype(np.float32)
    return ListSpread(lists, sizes, means, axes, scatter, covariance)


def _main_axis(residuals: Vectors) -> Vector:
    """Return the direction in which these vectors differ most, by power iteration from the longest of them."""
    axis: Vector = residuals[int(np.argmax(np.vecdot(residuals, residuals)))]
    for _ in range(_STEPS):
        turned = (residuals @ axis) @ residuals
        axis = (turned / max(float(np.linalg.norm(turned)), _LEAST)).astype(np.float32)
    return axis
