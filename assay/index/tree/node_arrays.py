"""Numbers the nodes of a tree from the root down and computes their centroids."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.index.tree.layout import TreeLayout
from assay.types import Floats, Rows, Vectors

_BLOCK = 8_192


def number_nodes(
    vectors: Vectors, leaf_of_row: Rows, second_of_row: Rows, parents: Sequence[Rows], split_families: Rows
) -> TreeLayout:
    """Return the layout of a tree whose levels are given as parents of their nodes, from the leaves up.

    Without levels there is at most one leaf, and it is the root.
    """
    numbers, parent, level = _order_nodes(leaf_of_row, parents)
    count = len(parent)
    leaf_nodes = numbers[leaf_of_row] if count else leaf_of_row
    second_nodes = np.where(second_of_row < 0, -1, numbers[second_of_row]) if count else second_of_row
    child_count = np.bincount(parent[1:], minlength=count)
    first_child = np.where(child_count > 0, np.searchsorted(parent, np.arange(count)), -1)
    return TreeLayout(
        parent=parent.astype(np.int32),
        level=level.astype(np.int32),
        first_child=first_child.astype(np.int32),
        child_count=child_count.astype(np.int32),
        leaf_of_row=leaf_nodes.astype(np.int32),
        second_leaf_of_row=second_nodes.astype(np.int32),
        centroids=_find_node_centroids(vectors, leaf_nodes, parent),
        split_families=split_families,
    )


def _order_nodes(leaf_of_row: Rows, parents: Sequence[Rows]) -> tuple[Rows, Rows, Rows]:
    """Return the node numbers of the leaves, and the parent and level of each node: by level, parent, smallest row."""
    if len(leaf_of_row) == 0:
        none = np.empty(0, np.int64)
        return none, none, none
    smallest = [np.full(int(leaf_of_row.max()) + 1, len(leaf_of_row), np.int64)]
    np.minimum.at(smallest[0], leaf_of_row, np.arange(len(leaf_of_row)))
    for labels in parents:
        above = np.full(int(labels.max()) + 1, len(leaf_of_row), np.int64)
        np.minimum.at(above, labels, smallest[-1])
        smallest.append(above)
    numbers = np.zeros(1, np.int64)
    all_parents, levels = [np.array([-1])], [np.zeros(1, np.int64)]
    count = 1
    for depth, (labels, rows) in enumerate(zip(reversed(parents), reversed(smallest[:-1]), strict=True), 1):
        parent_numbers = numbers[labels]
        order = np.lexsort((rows, parent_numbers))
        numbers = np.empty(len(labels), np.int64)
        numbers[order] = count + np.arange(len(labels))
        all_parents.append(parent_numbers[order])
        levels.append(np.full(len(labels), depth, np.int64))
        count += len(labels)
    return numbers, np.concatenate(all_parents), np.concatenate(levels)


def _find_node_centroids(vectors: Vectors, leaf_nodes: Rows, parent: Rows) -> Vectors:
    """Return the normalised mean of the rows under each node, summed in float64 in a fixed order."""
    sums: Floats = np.zeros((len(parent), vectors.shape[1]))
    order = np.argsort(leaf_nodes, kind="stable")
    for start in range(0, len(order), _BLOCK):
        rows = order[start : start + _BLOCK]
        leaves = leaf_nodes[rows]
        starts = np.flatnonzero(np.concatenate([[True], leaves[1:] != leaves[:-1]]))
        if vectors.shape[1]:
            sums[leaves[starts]] += np.add.reduceat(vectors[rows].astype(np.float64), starts, axis=0)
    for node in range(len(parent) - 1, 0, -1):
        sums[parent[node]] += sums[node]
    lengths = np.sqrt(np.einsum("ij,ij->i", sums, sums))
    unit: Vectors = (sums / np.where(lengths > 0.0, lengths, 1.0)[:, None]).astype(np.float32)
    return unit
