"""Lays out the tree of a store: families into leaves by capped spherical k-means, leaves into nodes, level by level.

1. Rows become weighted points, one for each family (`family_points`), so a family is never split over leaves. Only a
   family larger than a leaf is cut, in row order; the layout names it.
2. Points are divided into groups of at most `GROUP_ROWS` rows by k-means; in each group, capped k-means (`kmeans`)
   makes leaves. Families without a vector are packed in row order into leaves of their own.
3. Nodes of a level are grouped by capped k-means on their centroids, at most `branching` children each, until the root.

The result depends on the input and the seed: all comparisons are of integers (`grid`), so threads change nothing.
"""

from __future__ import annotations

import numpy as np

from assay.index.tree.family_points import FamilyPoints, make_points
from assay.index.tree.grid import GridVectors, dot, sum_by_label, to_grid
from assay.index.tree.kmeans import cluster_capped, find_centroids
from assay.index.tree.layout import TreeLayout, TreeSettings
from assay.index.tree.node_arrays import number_nodes
from assay.index.tree.second_leaves import find_second_leaves
from assay.types import Progress, Rows, Vectors

GROUP_ROWS = 16_384
"""The most rows that are clustered into leaves at once: bounds the matrix of similarities."""
MIN_BRANCHING = 4
"""A level is left out where nodes would have fewer children than this on average."""
_SAMPLE = 256
"""Points for each centroid that train the groups."""
_SMALLEST_CHILDREN = 2
_STARTS = 10
"""Runs of k-means for inner nodes, of which the best is used; leaves, which are many, take one."""


def build_layout(
    vectors: Vectors,
    families: Rows,
    settings: TreeSettings | None = None,
    seed: int = 1,
    progress: Progress = lambda *_: None,
    group_rows: int = GROUP_ROWS,
) -> TreeLayout:
    """Return the tree of rows with unit vectors (zero: no vector) and families (equal numbers are one family).

    No rows give no nodes; rows that fit into one leaf give one node, root and leaf at once. The size of a leaf is at
    most `leaf_cap`, always, and at least `leaf_min` where families can be moved so.
    """
    settings = settings or TreeSettings()
    if vectors.ndim != 2 or families.shape != (len(vectors),):
        raise ValueError(f"vectors have shape {vectors.shape}, families {families.shape}; one family for each row")
    rng = np.random.default_rng(seed)
    points = make_points(vectors, families, settings.leaf_cap)
    leaf_of_point = _make_leaves(points, settings, rng, progress, max(group_rows, settings.leaf_cap))
    leaf_count = int(leaf_of_point.max()) + 1 if len(leaf_of_point) else 0
    leaf_vectors = to_grid(sum_by_label(points.vectors, points.weights, leaf_of_point, leaf_count))
    parents = _group_levels(leaf_vectors, settings, rng)
    second = find_second_leaves(points, leaf_of_point, leaf_vectors, settings)
    return number_nodes(
        vectors,
        leaf_of_point[points.point_of_row],
        second[points.point_of_row],
        parents,
        points.split_families,
    )


def count_levels(leaves: int, settings: TreeSettings) -> int:
    """Return the levels below the root for a number of leaves.

    As many as the settings say, more where they cannot hold the leaves, fewer where nodes would have less than
    `MIN_BRANCHING` children: with the defaults one level up to 15 leaves, two up to 63, three up to 4,096.
    """
    if leaves <= 1:
        return 0
    levels = settings.levels
    while settings.branching**levels < leaves:
        levels += 1
    least = min(MIN_BRANCHING, settings.branching)
    while levels > 1 and leaves < least**levels and leaves <= settings.branching ** (levels - 1):
        levels -= 1
    return levels


def _make_leaves(
    points: FamilyPoints, settings: TreeSettings, rng: np.random.Generator, progress: Progress, group_rows: int
) -> Rows:
    """Return the leaf of each point, numbered from 0."""
    size = int(points.weights.sum())
    leaf_of_point = np.zeros(len(points.weights), np.int64)
    if size <= settings.leaf_cap:
        return leaf_of_point
    progress("clustering chunks", 0, size)
    has_vector = points.vectors.any(axis=1)
    done = count = 0
    for group in _split_groups(points, np.flatnonzero(has_vector), settings, rng, group_rows):
        weights = points.weights[group]
        rows = int(weights.sum())
        wanted = -(-rows // settings.leaf_target)
        leaves = cluster_capped(
            points.vectors[group], weights, wanted, settings.leaf_cap, min(settings.leaf_min, rows), rng
        )
        leaf_of_point[group] = count + leaves
        count += int(leaves.max()) + 1
        done += rows
        progress("clustering chunks", done, size)
    without = np.flatnonzero(~has_vector)
    leaf_of_point[without] = count + _pack_in_order(points.weights[without], settings.leaf_cap)
    progress("clustering chunks", size, size)
    return leaf_of_point


def _split_groups(
    points: FamilyPoints, members: Rows, settings: TreeSettings, rng: np.random.Generator, group_rows: int
) -> list[Rows]:
    """Divide points into groups of at most `group_rows` rows, similar points together."""
    done: list[Rows] = []
    waiting = [members]
    while waiting:
        group = waiting.pop()
        rows = int(points.weights[group].sum())
        if rows <= group_rows or len(group) == 1:
            done += [group] if len(group) else []
            continue
        count = -(-2 * rows // group_rows)
        sample = group[np.linspace(0, len(group) - 1, min(len(group), count * _SAMPLE)).astype(np.int64)]
        centroids = find_centroids(points.vectors[sample], points.weights[sample], count, rng)
        labels = _find_nearest(points.vectors, group, centroids)
        sizes = np.bincount(labels, points.weights[group], minlength=len(centroids))
        large = sizes >= min(settings.leaf_target, rows // count)
        labels = np.flatnonzero(large)[_find_nearest(points.vectors, group, centroids[large])]
        parts = [group[labels == label] for label in np.unique(labels)]
        # Equal points cannot be told apart: they are divided in their order.
        waiting += reversed(parts if len(parts) > 1 else np.array_split(group, 2))
    return done


def _find_nearest(vectors: GridVectors, members: Rows, centroids: GridVectors) -> Rows:
    labels = np.empty(len(members), np.int64)
    for start in range(0, len(members), GROUP_ROWS):
        part = slice(start, start + GROUP_ROWS)
        labels[part] = np.argmax(dot(vectors[members[part]], centroids), axis=1)
    return labels


def _pack_in_order(weights: Rows, cap: int) -> Rows:
    """Return a number for each weight: the next one begins where a weight no longer fits."""
    labels = np.empty(len(weights), np.int64)
    label = filled = 0
    for place, weight in enumerate(weights.tolist()):
        if filled + weight > cap:
            label, filled = label + 1, 0
        filled += weight
        labels[place] = label
    return labels


def _group_levels(leaf_vectors: GridVectors, settings: TreeSettings, rng: np.random.Generator) -> list[Rows]:
    """Return for each level from the leaves up to the root's children the parents of its nodes."""
    leaves = len(leaf_vectors)
    levels = count_levels(leaves, settings)
    parents: list[Rows] = []
    vectors, weights = leaf_vectors, np.ones(leaves, np.int64)
    for level in range(levels - 1, 0, -1):
        wanted = max(-(-len(vectors) // settings.branching), round(leaves ** (level / levels)))
        labels = cluster_capped(vectors, weights, wanted, settings.branching, _SMALLEST_CHILDREN, rng, _STARTS)
        parents.append(labels)
        vectors = to_grid(sum_by_label(vectors, weights, labels, int(labels.max()) + 1))
        weights = np.ones(len(vectors), np.int64)
    if levels:
        parents.append(np.zeros(len(vectors), np.int64))
    return parents
