"""Gives points that lie between two leaves a second one (soft assignment)."""

from __future__ import annotations

import numpy as np

from assay.index.tree.family_points import FamilyPoints
from assay.index.tree.grid import GridVectors, dot, grid_scale
from assay.index.tree.layout import TreeSettings
from assay.types import Rows

_BLOCK = 4_096


def find_second_leaves(
    points: FamilyPoints, leaf_of_point: Rows, leaf_vectors: GridVectors, settings: TreeSettings
) -> Rows:
    """Return the most similar other leaf of each point whose cosine is within `second_margin` of its own; else -1.

    The closest decisions come first, until all rows have `replication` places on average; a leaf takes as many
    more rows as half its cap.
    """
    second = np.full(len(leaf_of_point), -1, np.int64)
    if settings.second_margin == 0.0 or len(leaf_vectors) < 2:
        return second
    others, gaps = _find_others(points, leaf_of_point, leaf_vectors)
    near = np.flatnonzero(gaps <= settings.second_margin * grid_scale(leaf_vectors.shape[1]) ** 2)
    places = int((settings.replication - 1.0) * points.weights.sum())
    room = np.full(len(leaf_vectors), settings.leaf_cap // 2, np.int64)
    for point in near[np.lexsort((near, gaps[near]))]:
        weight, leaf = points.weights[point], others[point]
        if weight <= min(places, room[leaf]):
            places -= int(weight)
            room[leaf] -= weight
            second[point] = leaf
    return second


def _find_others(points: FamilyPoints, leaf_of_point: Rows, leaf_vectors: GridVectors) -> tuple[Rows, Rows]:
    """Return for each point the most similar leaf beside its own, and how much less similar it is."""
    others = np.empty(len(leaf_of_point), np.int64)
    gaps = np.empty(len(leaf_of_point), np.int64)
    unusable = ~leaf_vectors.any(axis=1)
    for start in range(0, len(others), _BLOCK):
        part = slice(start, start + _BLOCK)
        similarities = dot(points.vectors[part], leaf_vectors)
        rows, own = np.arange(len(similarities)), leaf_of_point[part]
        own_similarities = similarities[rows, own]
        similarities[rows, own] = -(2.0**25)
        similarities[:, unusable] = -(2.0**25)
        others[part] = np.argmax(similarities, axis=1)
        gaps[part] = own_similarities - similarities[rows, others[part]]
    gaps[~points.vectors.any(axis=1)] = 2**26
    return others, gaps
