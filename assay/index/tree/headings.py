"""Lays out the tree that documents already have: folder, document, section, chunk.

Rows are sorted by their paths, (parts of the document's id, section), and cut into leaves, leaves into nodes, level by
level up to the root. A cut is made where neighbours share the fewest leading parts of their paths, so a leaf ends with
a document if it can, else with a section; of equal places the last is taken. Vectors decide nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.index.tree.layout import TreeLayout, TreeSettings
from assay.index.tree.node_arrays import number_nodes
from assay.types import Chunk, Rows, Vectors

HeadingPath = tuple[str, ...]
"""The parts of a document's id, and a section."""


def make_path(chunk: Chunk) -> HeadingPath:
    """Return the path of a chunk."""
    return (*chunk.doc_id.split("/"), chunk.section)


def build_heading_layout(vectors: Vectors, paths: Sequence[HeadingPath], settings: TreeSettings) -> TreeLayout:
    """Return the tree of rows with these paths; rows with equal paths keep their order."""
    order = sorted(range(len(paths)), key=paths.__getitem__)
    ordered = [paths[row] for row in order]
    labels = cut_runs(ordered, settings.leaf_min, settings.leaf_cap)
    leaf_of_row = np.empty(len(paths), np.int64)
    leaf_of_row[order] = labels
    parents: list[Rows] = []
    firsts, lasts = _ends_of_runs(ordered, ordered, labels)
    while len(firsts) > 1:
        labels = cut_runs(firsts, max(2, settings.branching // 2), settings.branching, lasts)
        parents.append(labels)
        firsts, lasts = _ends_of_runs(firsts, lasts, labels)
    second = np.full(len(paths), -1, np.int64)
    return number_nodes(vectors, leaf_of_row, second, parents, np.empty(0, np.int64))


def cut_runs(firsts: Sequence[HeadingPath], least: int, most: int, lasts: Sequence[HeadingPath] | None = None) -> Rows:
    """Return the number of the run of each item: runs have `least` to `most` items, the last one may have fewer.

    `firsts` and `lasts` are the first and the last path of each item.
    """
    lasts = firsts if lasts is None else lasts
    labels = np.empty(len(firsts), np.int64)
    start = label = 0
    while start < len(firsts):
        end = len(firsts)
        if end - start > most:
            places = range(start + least, start + most + 1)
            end = min(places, key=lambda place: (_count_shared(lasts[place - 1], firsts[place]), -place))
        labels[start:end] = label
        start, label = end, label + 1
    return labels


def _count_shared(one: HeadingPath, other: HeadingPath) -> int:
    """Return the number of leading parts that two paths share."""
    shared = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        shared += 1
    return shared


def _ends_of_runs(
    firsts: Sequence[HeadingPath], lasts: Sequence[HeadingPath], labels: Rows
) -> tuple[list[HeadingPath], list[HeadingPath]]:
    """Return the first and the last path of each run."""
    starts = np.flatnonzero(np.concatenate([[True], labels[1:] != labels[:-1]])[: len(labels)])
    ends = np.append(starts[1:], len(labels))[: len(starts)] - 1
    return [firsts[place] for place in starts.tolist()], [lasts[place] for place in ends.tolist()]
