"""The tree of a generation as files: layout, sums of vectors, prototypes, words, keywords and sentences of nodes.

Nothing in it is text of a chunk: prototypes and sentences are references to rows, keywords are numbers of terms, words
are maxima. So whoever reads it can leave out what belongs to a deleted chunk.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.index.atomic_folder import read_manifest
from assay.index.tree.grid import to_grid
from assay.index.tree.layout import Nodes, TreeLayout, TreeSettings
from assay.index.tree.leaf_words import LeafWords
from assay.index.words import WordIndex
from assay.types import Rows, Vectors

TREE_FORMAT = 1
"""Increased when the same rows would give another tree."""
_MANIFEST = frozenset({"digest", "base", "settings", "rows"})
Ints64 = NDArray[np.int64]


class TreeIndex:
    """A read-only tree. OSError or ValueError when it is missing, incomplete, of another format, of other rows than
    those of the generation with the digest `base`, or made with other settings."""

    def __init__(self, folder: Path, vocabulary: WordIndex, base: str, settings: TreeSettings) -> None:
        self._folder = folder
        self.vocabulary = vocabulary
        """The word index of the same rows, by which terms have numbers."""
        self._numbers: Rows | None = None
        manifest, checks = read_manifest(folder, TREE_FORMAT, _MANIFEST)
        self.manifest: dict[str, Any] = manifest
        if self.manifest["base"] != base or self.manifest["settings"] != settings.to_json():
            raise ValueError(f"{folder} is a tree of other rows or settings")
        checks.verify_all()
        self.digest: str = self.manifest["digest"]
        self.settings = settings
        self.parent: Nodes = self._load("parent")
        self.level: Nodes = self._load("level")
        self.first_child: Nodes = self._load("first_child")
        self.child_count: Nodes = self._load("child_count")
        self.leaf_of_row: Nodes = self._load("leaf_of_row")
        self.second_leaf_of_row: Nodes = self._load("second_leaf_of_row")
        self.sums: Ints64 = self._load("sums")
        """Sums of the rows' vectors on the grid: exact, so rows can be added and taken away in any order."""
        self.prototype_start: Rows = self._load("prototype_start")
        self.prototype_rows: Rows = self._load("prototype_rows")
        self.sentence_start: Rows = self._load("sentence_start")
        self.sentences: Rows = self._load("sentences")
        self.keyword_start: Rows = self._load("keyword_start")
        self.keyword_terms: NDArray[np.int32] = self._load("keyword_terms")
        self.keyword_holding: NDArray[np.int32] = self._load("keyword_holding")

    def _load(self, name: str) -> NDArray[Any]:
        loaded: NDArray[Any] = np.load(self._folder / f"{name}.npy", allow_pickle=False)
        return loaded

    @property
    def size(self) -> int:
        """The number of nodes."""
        return len(self.parent)

    @cached_property
    def words(self) -> LeafWords:
        return LeafWords(self._folder)

    @cached_property
    def average(self) -> float:
        """The mean length of a chunk, in terms, with which the impacts were computed."""
        return float(self.manifest["average"])

    @cached_property
    def first_leaf(self) -> int:
        """Leaves are the last nodes, from this one on."""
        return int(np.flatnonzero(self.child_count == 0)[0]) if self.size else 0

    @cached_property
    def families(self) -> tuple[NDArray[np.uint64], Rows]:
        """Marks of masked texts, ascending, with the leaf of their family, or -1 where it has several."""
        return self._load("marks"), self._load("mark_leaves")

    @cached_property
    def layout(self) -> TreeLayout:
        """The layout with the centroids of the rows of the generation, for the assignment of new rows."""
        return TreeLayout(
            self.parent,
            self.level,
            self.first_child,
            self.child_count,
            self.leaf_of_row,
            self.second_leaf_of_row,
            centroids_of(self.sums),
            np.empty(0, np.int64),
        )

    def row_numbers(self, rows: NDArray[np.int32]) -> Rows:
        """Return the numbers that rows of the vocabulary's postings have in the tree."""
        return rows.astype(np.int64) if self._numbers is None else self._numbers[rows]

    def renumber(self, rows: Rows, total: int) -> TreeIndex:
        """Give every row another number: row r of the index becomes `rows[r]` of `total`."""
        for name in ("leaf_of_row", "second_leaf_of_row"):
            column = np.full(total, -1, np.int32)
            column[rows] = getattr(self, name)
            setattr(self, name, column)
        self.prototype_rows = rows[self.prototype_rows]
        self.sentences[:, 0] = rows[self.sentences[:, 0]]
        self._numbers = rows
        return self


def centroids_of(sums: Ints64) -> Vectors:
    """Return the directions of sums; zero where there is none."""
    lengths = np.sqrt(np.einsum("ij,ij->i", sums.astype(np.float64), sums.astype(np.float64)))
    unit: Vectors = (sums / np.where(lengths > 0.0, lengths, 1.0)[:, None]).astype(np.float32)
    return unit


def sum_leaf_vectors(vectors: Vectors, leaves: Nodes, nodes: int) -> Ints64:
    """Return the sum of the rows' vectors, on the grid, of each leaf; rows with leaf -1 do not count."""
    sums = np.zeros((nodes, vectors.shape[1]), np.int64)
    placed = np.flatnonzero(leaves >= 0)
    order = placed[np.argsort(leaves[placed], kind="stable")]
    for start in range(0, len(order) if vectors.shape[1] else 0, 8_192):
        rows = order[start : start + 8_192]
        ordered = leaves[rows]
        runs = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
        sums[ordered[runs]] += np.add.reduceat(to_grid(vectors[rows]), runs, axis=0, dtype=np.int64)
    return sums


def add_to_parents(sums: Ints64, parent: Nodes) -> Ints64:
    """Add the sums of all nodes to the nodes above them, in place."""
    for node in range(len(parent) - 1, 0, -1):
        sums[parent[node]] += sums[node]
    return sums
