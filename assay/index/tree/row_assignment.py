"""Finds the leaves of rows that are added to a tree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.index.tree.grid import GridVectors, dot, sum_by_label, to_grid
from assay.index.tree.layout import Nodes, TreeLayout, TreeSettings
from assay.types import Rows, Vectors

_BLOCK = 4_096


@dataclass(frozen=True, slots=True)
class RowAssignment:
    """The leaf of each new row, and the leaves that hold more rows than the cap with them: rebuild or split these."""

    leaf_of_row: Nodes
    overfull: Rows


def assign_rows(
    layout: TreeLayout, vectors: Vectors, families: Rows, settings: TreeSettings | None = None
) -> RowAssignment:
    """Return the leaves of new rows; the layout does not change.

    A family below the number of the layout's rows is known: its number is a row of the layout, and the new row joins
    the leaf of that row. Rows of a new family (any larger number), or of one that is split over leaves, go together
    to the leaf nearest to the sum of their vectors. Without a vector that is the leaf with the fewest rows, among
    those without a centroid if there are any. Without nodes every leaf is -1: build the tree.
    """
    settings = settings or TreeSettings()
    leaves = np.full(len(families), -1, np.int64)
    if len(layout.parent) == 0 or len(families) == 0:
        return RowAssignment(leaves.astype(np.int32), np.empty(0, np.int64))
    known = (families < len(layout.leaf_of_row)) & ~np.isin(families, layout.split_families)
    leaves[known] = layout.leaf_of_row[families[known]]
    sizes = layout.leaf_sizes() + np.bincount(leaves[known], minlength=len(layout.parent))
    names, labels = np.unique(families[~known], return_inverse=True)
    grid = to_grid(vectors[~known])
    sums = to_grid(sum_by_label(grid, np.ones(len(grid), np.int64), labels, len(names)))
    nearest = find_nearest_leaves(layout, sums)
    for label in np.flatnonzero(nearest < 0):
        nearest[label] = _find_emptiest(layout, sizes)
        sizes[nearest[label]] += np.count_nonzero(labels == label)
    leaves[~known] = nearest[labels]
    sizes = layout.leaf_sizes() + np.bincount(leaves, minlength=len(layout.parent))
    return RowAssignment(leaves.astype(np.int32), np.flatnonzero(sizes > settings.leaf_cap))


def find_nearest_leaves(layout: TreeLayout, points: GridVectors) -> Rows:
    """Return the leaf with the most similar centroid; -1 for a zero vector, or where no leaf has a centroid."""
    leaves = layout.leaves()
    leaves = leaves[layout.centroids[leaves].any(axis=1)]
    nearest = np.full(len(points), -1, np.int64)
    if len(leaves) == 0:
        return nearest
    centroids = to_grid(layout.centroids[leaves])
    for start in range(0, len(points), _BLOCK):
        part = points[start : start + _BLOCK]
        found = leaves[np.argmax(dot(part, centroids), axis=1)]
        nearest[start : start + _BLOCK] = np.where(part.any(axis=1), found, -1)
    return nearest


def _find_emptiest(layout: TreeLayout, sizes: Rows) -> int:
    leaves = layout.leaves()
    bare = leaves[~layout.centroids[leaves].any(axis=1)]
    leaves = bare if len(bare) else leaves
    return int(leaves[np.argmin(sizes[leaves])])
