"""Chooses the prototypes of nodes: rows that cover the directions of all rows below (k-centre, farthest first).

Prototypes are rows, not vectors of their own, so a deleted chunk leaves none behind. Similarities are integers
(`grid`); ties go to the smaller row.
"""

from __future__ import annotations

import numpy as np

from assay.index.tree.grid import GridVectors, dot, to_grid
from assay.index.tree.layout import TreeLayout
from assay.types import Progress, Rows, Vectors

MOST_PROTOTYPES = 32


def choose_prototypes(vectors: Vectors, layout: TreeLayout, progress: Progress) -> tuple[Rows, Rows]:
    """Return where the prototypes of each node begin, and their rows: the most central first.

    A leaf chooses among its rows, an inner node among the prototypes of its children. Rows without a vector are none.
    """
    nodes = len(layout.parent)
    chosen: list[Rows] = [np.empty(0, np.int64)] * nodes
    order = np.argsort(layout.leaf_of_row, kind="stable")
    bounds = np.searchsorted(layout.leaf_of_row[order], np.arange(nodes + 1))
    for node in range(nodes - 1, -1, -1):
        children = layout.children(node)
        rows = np.sort(order[bounds[node] : bounds[node + 1]])
        candidates = np.concatenate([chosen[child] for child in children]) if len(children) else rows
        chosen[node] = _choose(np.sort(candidates), vectors)
        if node % 256 == 0:
            progress("prototypes", nodes - node, nodes)
    start = np.concatenate([[0], np.cumsum([len(rows) for rows in chosen])]).astype(np.int64)
    return start, np.concatenate([np.empty(0, np.int64), *chosen])


def _choose(rows: Rows, vectors: Vectors) -> Rows:
    if vectors.shape[1] == 0:
        return rows[:0]
    points = to_grid(vectors[rows])
    has = points.any(axis=1)
    rows, points = rows[has], points[has]
    return rows[find_centres(points, MOST_PROTOTYPES)]


def find_centres(points: GridVectors, most: int) -> Rows:
    """Return the places of at most `most` points: the one nearest to the mean, then always the point that is least
    similar to those chosen. Equal points are chosen once."""
    if len(points) == 0:
        return np.empty(0, np.int64)
    mean = to_grid(points.sum(axis=0, dtype=np.int64)[None, :])
    chosen = [int(np.argmax(dot(points, mean)[:, 0]))]
    floats = points.astype(np.float32)
    nearest = floats @ floats[chosen[0]]
    open_points = ~(points == points[chosen[0]]).all(axis=1)
    while len(chosen) < most and open_points.any():
        place = int(np.argmin(np.where(open_points, nearest, np.float32(2**25))))
        chosen.append(place)
        np.maximum(nearest, floats @ floats[place], out=nearest)
        open_points &= ~(points == points[place]).all(axis=1)
    return np.array(chosen, np.int64)
