"""Turns rows into weighted points, one for each family: what clustering moves as a whole."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.index.tree.grid import GridVectors, to_grid
from assay.types import Rows, Vectors

_BLOCK = 8_192


@dataclass(frozen=True, slots=True)
class FamilyPoints:
    """Families, or parts of families that are larger than a leaf, in the order of their numbers.

    point_of_row     the point of each row
    first_rows       the smallest row of each point
    weights          the rows of each point
    vectors          the direction of the sum of the rows' vectors, on the grid; zero where no row has a vector
    split_families   the families that are several points
    """

    point_of_row: Rows
    first_rows: Rows
    weights: Rows
    vectors: GridVectors
    split_families: Rows


def make_points(vectors: Vectors, families: Rows, cap: int) -> FamilyPoints:
    """Return the points of a store. A family larger than `cap` is cut, in row order, into parts of about equal size."""
    size = len(families)
    order = np.argsort(families, kind="stable")
    ordered = families[order]
    new_family = np.concatenate([[True], ordered[1:] != ordered[:-1]]) if size else np.empty(0, bool)
    starts = np.flatnonzero(new_family)
    sizes = np.diff(np.append(starts, size))
    family_of = np.cumsum(new_family) - 1
    parts = -(-sizes // cap)
    part = (np.arange(size) - starts[family_of]) * parts[family_of] // sizes[family_of]
    new_point = new_family | np.concatenate([[False], part[1:] != part[:-1]])[:size]
    point_of_row = np.empty(size, np.int64)
    point_of_row[order] = np.cumsum(new_point) - 1
    point_starts = np.flatnonzero(new_point)
    return FamilyPoints(
        point_of_row=point_of_row,
        first_rows=order[point_starts],
        weights=np.diff(np.append(point_starts, size)),
        vectors=_sum_vectors(vectors, order, point_starts),
        split_families=ordered[starts[parts > 1]],
    )


def _sum_vectors(vectors: Vectors, order: Rows, starts: Rows) -> GridVectors:
    """Return the direction of the sum of each point's rows: exact sums of the rows' directions on the grid."""
    sums = np.empty((len(starts), vectors.shape[1]), np.int16)
    ends = np.append(starts, len(order))
    first = 0
    while first < len(starts):
        last = max(first + 1, int(np.searchsorted(ends, ends[first] + _BLOCK, side="right")) - 1)
        rows = to_grid(vectors[order[ends[first] : ends[last]]])
        sums[first:last] = _add_runs(rows, starts[first:last] - ends[first])
        first = last
    return sums


def _add_runs(rows: GridVectors, starts: NDArray[np.int64]) -> GridVectors:
    if len(starts) == len(rows) or rows.shape[1] == 0:
        return rows[starts]
    return to_grid(np.add.reduceat(rows, starts, axis=0, dtype=np.int64))
