"""Assigns weighted points to clusters that hold a limited weight. Deterministic: ties go to the smaller number.

Similarities are whole numbers in float32 (`grid`), shape [points, clusters].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.types import Vectors

_CHOICES = 8
"""Clusters that are tried before all others with room are compared."""


def assign_capped(similarities: Vectors, weights: NDArray[np.int64], cap: int) -> NDArray[np.int64]:
    """Return the cluster of each point: the most similar one with room.

    Heavy points choose first, because they fit into few clusters; then those that lose most without their first
    choice. A point that fits nowhere opens another cluster, numbered from `similarities.shape[1]`.
    """
    count = similarities.shape[1]
    keys = similarities.astype(np.int64) * count + np.arange(count - 1, -1, -1)  # no two of a row are equal
    choices = _best_columns(keys, min(_CHOICES, count))
    rows = np.arange(len(keys))
    second = choices[:, min(1, count - 1)]
    margins = similarities[rows, choices[:, 0]] - similarities[rows, second]
    order = np.lexsort((rows, -margins, -weights))
    labels = np.empty(len(keys), np.int64)
    room = np.full(count, cap, np.int64)
    added: list[int] = []
    for point, weight, tried in zip(order.tolist(), weights[order].tolist(), choices[order].tolist(), strict=True):
        cluster = next((one for one in tried if room[one] >= weight), -1)
        if cluster < 0 and len(fitting := np.flatnonzero(room >= weight)):
            cluster = int(fitting[np.argmax(keys[point, fitting])])
        if cluster >= 0:
            room[cluster] -= weight
        else:
            cluster = count + _first_fit(added, weight, cap)
        labels[point] = cluster
    return labels


def _best_columns(keys: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return the columns of the `count` largest keys of each row, largest first."""
    best = np.argpartition(-keys, count - 1, axis=1)[:, :count]
    order = np.argsort(-np.take_along_axis(keys, best, 1), axis=1)
    return np.take_along_axis(best, order, 1)


def _first_fit(rooms: list[int], weight: int, cap: int) -> int:
    """Put a weight into the first of several rooms that holds it, or into a new one; return its number."""
    number = next((number for number, room in enumerate(rooms) if room >= weight), len(rooms))
    if number == len(rooms):
        rooms.append(cap)
    rooms[number] -= weight
    return number


def fill_small(
    similarities: Vectors, labels: NDArray[np.int64], weights: NDArray[np.int64], cap: int, least: int
) -> NDArray[np.int64]:
    """Return labels in which clusters below `least` are filled up or dissolved, where that is possible.

    A small cluster takes the points that lose least by moving, from clusters that remain large enough. Where these do
    not suffice, its own points move to the most similar clusters with room, if all of them find one.
    """
    labels = labels.copy()
    sizes = np.bincount(labels, weights, minlength=similarities.shape[1]).astype(np.int64)
    small = np.flatnonzero((sizes > 0) & (sizes < least))
    for cluster in small[np.argsort(sizes[small], kind="stable")]:
        if sizes[cluster] < least:
            _fill(cluster, similarities, labels, weights, sizes, cap, least)
        if sizes[cluster] < least:
            _dissolve(cluster, similarities, labels, weights, sizes, cap)
    return labels


def _fill(
    cluster: np.int64,
    similarities: Vectors,
    labels: NDArray[np.int64],
    weights: NDArray[np.int64],
    sizes: NDArray[np.int64],
    cap: int,
    least: int,
) -> None:
    able = (labels != cluster) & (sizes[labels] - weights >= least) & (sizes[cluster] + weights <= cap)
    candidates = np.flatnonzero(able)
    if sizes[cluster] + weights[candidates].sum() < least:
        return
    losses = similarities[candidates, labels[candidates]] - similarities[candidates, cluster]
    for point in candidates[np.argsort(losses, kind="stable")]:
        weight, donor = weights[point], labels[point]
        if sizes[donor] - weight >= least and sizes[cluster] + weight <= cap:
            sizes[donor] -= weight
            sizes[cluster] += weight
            labels[point] = cluster
        if sizes[cluster] >= least:
            return


def _dissolve(
    cluster: np.int64,
    similarities: Vectors,
    labels: NDArray[np.int64],
    weights: NDArray[np.int64],
    sizes: NDArray[np.int64],
    cap: int,
) -> None:
    members = np.flatnonzero(labels == cluster)
    members = members[np.argsort(-weights[members], kind="stable")]
    room = cap - sizes
    room[cluster] = 0
    room[sizes == 0] = 0
    moved = []
    for point in members:
        fitting = np.flatnonzero(room >= weights[point])
        if len(fitting) == 0:
            return
        target = fitting[np.argmax(similarities[point, fitting])]
        room[target] -= weights[point]
        moved.append(target)
    for point, target in zip(members, moved, strict=True):
        sizes[target] += weights[point]
        labels[point] = target
    sizes[cluster] = 0
