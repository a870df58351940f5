"""The tree of a snapshot: the tree of its generation, the rows added since, without the dead ones.

The tree's shape is the generation's. Everything else follows the live rows: centroids are exact sums to which new rows
are added and from which dead ones are taken; prototypes and sentences of dead rows are left out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from assay.backend.shared.bm25 import LexicalView
from assay.backend.shared.node_impacts import ImpactBounds
from assay.backend.shared.node_payloads import PayloadReader
from assay.backend.shared.query_terms import QueryTerms
from assay.backend.shared.row_scores import score_all_rows
from assay.index.graph import gather
from assay.index.tree.index import TreeIndex, add_to_parents, centroids_of, sum_leaf_vectors
from assay.protocols import DEFAULT_WEIGHTING, EntityPostings, RowScores, TermWeighting
from assay.text.analyser import Analyser
from assay.types import Chunk, Floats, Ints, NodePayload, Query, Rows, Vectors
from assay.where import Mask


class TreeSource(Protocol):
    """The part of a snapshot that its tree reads."""

    @property
    def digest(self) -> str: ...
    @property
    def analyser(self) -> Analyser: ...
    def entities(self) -> EntityPostings: ...
    def chunks(self, rows: Rows) -> list[Chunk]: ...
    def vectors(self, rows: Rows) -> Vectors: ...
    def numbers(self, name: str, rows: Rows) -> Floats: ...
    def field_values(self, name: str, rows: Rows) -> list[str]: ...
    def query_terms(self, query: Query, weighting: TermWeighting) -> QueryTerms: ...
    def visible(self, query: Query) -> Mask: ...
    def vector_blocks(self) -> Sequence[Vectors]: ...
    def summary_text(self, sentences: Sequence[str]) -> str:
        """What a language model wrote for a node with these sentences; "" where there is nothing."""
        ...


@dataclass(frozen=True)
class SnapshotTree:
    """Implements `protocols.TreeView`. `tail_leaves` are the leaves of the rows after the generation's."""

    index: TreeIndex
    lexical: LexicalView
    source: TreeSource
    tail_leaves: Ints

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(f"{self.index.digest}|{self.source.digest}".encode()).hexdigest()

    @property
    def size(self) -> int:
        return self.index.size

    @property
    def depth(self) -> int:
        return int(self.index.level.max(initial=0))

    @property
    def parent(self) -> Ints:
        return self.index.parent

    @property
    def level(self) -> Ints:
        return self.index.level

    @property
    def first_child(self) -> Ints:
        return self.index.first_child

    @property
    def child_count(self) -> Ints:
        return self.index.child_count

    def children(self, node: int) -> range:
        first = int(self.index.first_child[node])
        return range(first, first + int(self.index.child_count[node]))

    # -- rows

    @cached_property
    def live(self) -> Mask:
        """Which rows are in the tree."""
        return self.leaf_of_row >= 0

    @cached_property
    def leaf_of_row(self) -> Ints:
        return self._without_dead(self.index.leaf_of_row, self.tail_leaves)

    @cached_property
    def second_leaf_of_row(self) -> Ints:
        return self._without_dead(self.index.second_leaf_of_row, np.full_like(self.tail_leaves, -1))

    def _without_dead(self, old: Ints, new: Ints) -> Ints:
        leaves = np.concatenate([old, new])
        leaves[self.lexical.dead] = -1
        leaves[len(old) :][~self.lexical.tail_live[len(self.lexical.tail_live) - len(new) :]] = -1
        return leaves

    @cached_property
    def _members(self) -> tuple[Rows, Rows]:
        """Rows by leaf, and where the rows of each node that is a leaf begin."""
        second = np.flatnonzero(self.second_leaf_of_row >= 0)
        first = np.flatnonzero(self.live)
        rows = np.concatenate([first, second])
        leaves = np.concatenate([self.leaf_of_row[first], self.second_leaf_of_row[second]])
        order = np.lexsort((rows, leaves))
        members = rows[order]
        members.flags.writeable = False  # `rows` gives parts of it away
        return members, np.searchsorted(leaves[order], np.arange(self.size + 1))

    @cached_property
    def leaf_ranges(self) -> tuple[Rows, Rows]:
        """The first leaf below each node, and the one after its last: leaves below a node are consecutive."""
        first, end = np.arange(self.size), np.arange(1, self.size + 1)
        for node in range(self.size - 1, -1, -1):
            children = self.children(node)
            if len(children):
                first[node], end[node] = first[children[0]], end[children[-1]]
        return first, end

    def rows(self, node: int) -> Rows:
        rows, start = self._members
        first, end = self.leaf_ranges
        found: Rows = rows[start[first[node]] : start[end[node]]]
        return found if end[node] - first[node] == 1 else np.unique(found)  # those of one leaf ascend, each once

    def visible(self, query: Query) -> Mask:
        return self.source.visible(query)

    # -- vectors

    @cached_property
    def centroids(self) -> Vectors:
        sums = self.index.sums
        dead, new = self.lexical.dead, np.flatnonzero(self.tail_leaves >= 0) + len(self.index.leaf_of_row)
        if len(dead) or len(new):
            change = self._sum(new, self.leaf_of_row[new]) - self._sum(dead, self.index.leaf_of_row[dead])
            sums = sums + add_to_parents(change, self.parent)
        return centroids_of(sums)

    def _sum(self, rows: Rows, leaves: Ints) -> NDArray[np.int64]:
        vectors = self.source.vectors(rows)[:, : self.index.sums.shape[1]]
        return sum_leaf_vectors(vectors, leaves, self.size)

    def prototypes(self, nodes: Rows) -> tuple[Rows, Rows, Vectors]:
        owners, places = gather(self.index.prototype_start, nodes)
        rows = self.index.prototype_rows[places]
        keep = self.live[rows]
        owners, rows = owners[keep], rows[keep]
        if len(self._new_rows):
            owners, rows = self._add_new(nodes, owners, rows)
        return owners, rows, self.source.vectors(rows)

    @cached_property
    def _new_rows(self) -> Rows:
        """Live rows with a vector that came after the generation: each stands for itself in its nodes."""
        new = np.flatnonzero(self.leaf_of_row[len(self.index.leaf_of_row) :] >= 0) + len(self.index.leaf_of_row)
        return new[self.source.vectors(new).any(axis=1)] if self.index.sums.shape[1] else new[:0]

    def _add_new(self, nodes: Rows, owners: Rows, rows: Rows) -> tuple[Rows, Rows]:
        leaves = self.leaf_of_row[self._new_rows]
        order = np.argsort(leaves, kind="stable")
        first, end = self.leaf_ranges
        starts = np.searchsorted(leaves[order], first[nodes])
        counts = np.searchsorted(leaves[order], end[nodes]) - starts
        new_owners = np.repeat(np.arange(len(nodes)), counts)
        within = np.arange(len(new_owners)) - np.repeat(np.cumsum(counts) - counts, counts)
        new = self._new_rows[order[np.repeat(starts, counts) + within]]
        by_node = np.argsort(np.concatenate([owners, new_owners]), kind="stable")
        return np.concatenate([owners, new_owners])[by_node], np.concatenate([rows, new])[by_node]

    def summary_rows(self, nodes: Rows) -> tuple[Rows, Rows]:
        return self.payloads.summary_rows(nodes)

    def summary_vectors(self, nodes: Rows) -> Vectors:
        matrix = self._summary_matrix
        return matrix if len(nodes) == len(matrix) and bool((nodes == np.arange(len(matrix))).all()) else matrix[nodes]

    @cached_property
    def _summary_matrix(self) -> Vectors:
        """The summary vectors of all nodes: a query that compares all of them must not read their rows again."""
        owners, rows = self.summary_rows(np.arange(self.size))
        sums = np.zeros((self.size, self.index.sums.shape[1]))
        vectors = self.source.vectors(rows)[:, : sums.shape[1]].astype(np.float64)
        np.add.at(sums, owners, vectors)
        lengths = np.sqrt(np.einsum("ij,ij->i", sums, sums))
        unit: Vectors = (sums / np.where(lengths > 0.0, lengths, 1.0)[:, None]).astype(np.float32)
        return unit

    # -- words

    def impacts(self, nodes: Rows, query: Query, weighting: TermWeighting = DEFAULT_WEIGHTING) -> Floats:
        return self._bounds.bound(nodes, self.source.query_terms(query, weighting))

    @cached_property
    def _bounds(self) -> ImpactBounds:
        return ImpactBounds(self.index, self.lexical, self.leaf_of_row, self.second_leaf_of_row)

    def row_scores(self, query: Query, weighting: TermWeighting = DEFAULT_WEIGHTING) -> RowScores:
        terms = self.source.query_terms(query, weighting)
        return score_all_rows(
            self.lexical, terms, self.source.visible(query), query.vector, self.source.vector_blocks()
        )

    # -- payloads

    def payload(self, node: int) -> NodePayload:
        return self.payloads.read(node)

    @cached_property
    def payloads(self) -> PayloadReader:
        return PayloadReader(self)
