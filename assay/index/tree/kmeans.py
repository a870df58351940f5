"""Spherical k-means on the grid, and its variant with a cap on the size of clusters.

Why not FAISS: its training rounds differently with other numbers of threads (see `vectors_builder`), and a tree must
be the same bytes on every machine of a platform. The matrix products here are exact (`grid`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.index.tree.capacity import assign_capped, fill_small
from assay.index.tree.grid import GridVectors, dot, sum_by_label, to_grid

Labels = NDArray[np.int64]
Weights = NDArray[np.int64]

_ITERATIONS = 10
_CAPPED_ITERATIONS = 3


def find_centroids(
    points: GridVectors, weights: Weights, count: int, rng: np.random.Generator, iterations: int = _ITERATIONS
) -> GridVectors:
    """Return at most `count` centroids of weighted points: k-means that starts at random points.

    A cluster that becomes empty starts again at the point that is farthest from its own centroid.
    """
    count = min(count, len(points))
    centroids = points[np.sort(rng.choice(len(points), count, replace=False))]
    labels = np.full(len(points), -1, np.int64)
    for _ in range(iterations):
        similarities = dot(points, centroids)
        nearest = np.argmax(similarities, axis=1)
        if np.array_equal(nearest, labels):
            break
        labels = nearest
        centroids = to_grid(sum_by_label(points, weights, labels, count))
        empty = np.flatnonzero(np.bincount(labels, minlength=count) == 0)
        farthest = np.argsort(similarities[np.arange(len(points)), labels], kind="stable")
        centroids[empty] = points[farthest[: len(empty)]]
    return centroids


def cluster_capped(
    points: GridVectors,
    weights: Weights,
    count: int,
    cap: int,
    least: int,
    rng: np.random.Generator,
    starts: int = 1,
) -> Labels:
    """Return a cluster for each weighted point. The weights of a cluster sum to at most `cap`, if possible to `least`.

    No point may weigh more than the cap. There are about `count` clusters: more where the points do not fit, fewer
    where some stay empty. Labels are consecutive from 0. The best of `starts` runs by mean cosine is returned.
    """
    best, best_total = np.zeros(len(points), np.int64), -np.inf
    for _ in range(starts):
        labels = _cluster_once(points, weights, count, cap, least, rng)
        similarities = dot(points, _recompute(points, weights, labels))[np.arange(len(points)), labels]
        total = int(similarities.astype(np.int64) @ weights)
        if total > best_total:
            best, best_total = labels, total
    return best


def _cluster_once(
    points: GridVectors, weights: Weights, count: int, cap: int, least: int, rng: np.random.Generator
) -> Labels:
    centroids = find_centroids(points, weights, count, rng)
    labels = assign_capped(dot(points, centroids), weights, cap)
    for _ in range(_CAPPED_ITERATIONS - 1):
        centroids = _recompute(points, weights, labels)
        labels = assign_capped(dot(points, centroids), weights, cap)
    labels = _renumber(labels)
    labels = fill_small(dot(points, _recompute(points, weights, labels)), labels, weights, cap, least)
    return _renumber(labels)


def _recompute(points: GridVectors, weights: Weights, labels: Labels) -> GridVectors:
    labels = _renumber(labels)
    return to_grid(sum_by_label(points, weights, labels, int(labels.max()) + 1))


def _renumber(labels: Labels) -> Labels:
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)
