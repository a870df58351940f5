"""The leaves of rows written since the generation. Append-only, filled on first use.

A row goes to the leaf of its family where an equal masked text is in the generation, else to the leaf with the nearest
centroid. Without a vector its text decides by its mark. So a leaf depends on the row and the generation alone, never
on the rows that came before. Leaves may grow beyond their cap: the next generation lays out the tree anew.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Sequence

import numpy as np

from assay.index.tree.families import mark_text
from assay.index.tree.grid import to_grid
from assay.index.tree.index import TreeIndex
from assay.index.tree.layout import Nodes
from assay.index.tree.row_assignment import find_nearest_leaves
from assay.types import Chunk, Rows, Vectors


class TailTree:
    """Snapshots share one; each reads its own first rows."""

    def __init__(self, base: TreeIndex) -> None:
        self._base = base
        self._lock = threading.Lock()
        self._leaves = array("i")

    def read_up_to(self, chunks: Sequence[Chunk], vectors: Vectors) -> Nodes:
        """Return the leaves of the first rows, as many as there are vectors; rows not read yet are read now."""
        with self._lock:
            first, size = len(self._leaves), len(vectors)
            if first < size:
                self._leaves.extend(self._assign(chunks[first:size], vectors[first:size]).tolist())
            return np.array(self._leaves[:size], np.int32)

    def _assign(self, chunks: Sequence[Chunk], vectors: Vectors) -> Rows:
        if not self._base.size:
            return np.full(len(chunks), -1, np.int64)
        marks = np.array([mark_text(chunk.indexed_text) for chunk in chunks], np.uint64)
        known, leaves_of_marks = self._base.families
        places = np.minimum(np.searchsorted(known, marks), len(known) - 1)
        leaves = np.where(known[places] == marks, leaves_of_marks[places], -1).astype(np.int64)
        open_rows = np.flatnonzero(leaves < 0)
        if vectors.shape[1]:
            leaves[open_rows] = find_nearest_leaves(self._base.layout, to_grid(vectors[open_rows]))
        left = np.flatnonzero(leaves < 0)
        leaves[left] = self._leaves_without_vector[(marks[left] % len(self._leaves_without_vector)).astype(np.int64)]
        return leaves

    @property
    def _leaves_without_vector(self) -> Rows:
        """Leaves of rows without a vector; all leaves where there are none."""
        layout = self._base.layout
        leaves = layout.leaves()
        bare = leaves[~layout.centroids[leaves].any(axis=1)]
        return bare if len(bare) else leaves
