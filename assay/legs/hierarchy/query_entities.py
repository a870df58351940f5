"""The entities that a query names, as scores of rows and leaves: cross-links used for routing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.protocols import EntitySnapshot, Snapshot, TreeView
from assay.types import Floats, Query, Rows

_NO_ROWS = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class QueryEntities:
    """The rows that hold an entity of the query, ascending, with the share of the entities' weight that each holds.

    An entity weighs ln(1 + N / df). `numbers` are the entities, `owners` and `rows` their postings.
    """

    numbers: Rows
    weights: Floats
    owners: Rows
    rows: Rows
    shared_rows: Rows
    shares: Floats

    @staticmethod
    def find(query: Query, snapshot: Snapshot) -> QueryEntities:
        """Look up the entities of a query; a store without cross-links has none."""
        numbers = _NO_ROWS
        if query.text.strip() and "graph" in snapshot.capabilities and isinstance(snapshot, EntitySnapshot):
            links = snapshot.entities()
            numbers = links.query_entities(query.text)
        if not len(numbers):
            return QueryEntities(_NO_ROWS, np.empty(0), _NO_ROWS, _NO_ROWS, _NO_ROWS, np.empty(0))
        weights = np.log1p(snapshot.size / np.maximum(links.frequency(numbers), 1))
        weights = weights / weights.sum()
        owners, rows = links.rows_of(numbers, query)
        shared_rows, places = np.unique(rows, return_inverse=True)
        shares = np.minimum(np.bincount(places, weights[owners], minlength=len(shared_rows)), 1.0)
        return QueryEntities(numbers, weights, owners, rows, shared_rows, shares)

    def share_of(self, rows: Rows) -> Floats:
        """The share of each of these rows."""
        if not len(self.shared_rows):
            return np.zeros(len(rows))
        places = np.minimum(np.searchsorted(self.shared_rows, rows), len(self.shared_rows) - 1)
        return np.where(self.shared_rows[places] == rows, self.shares[places], 0.0)

    def share_of_leaves(self, tree: TreeView) -> Floats:
        """For each node that is a leaf, the share of entities that its rows hold together; 0 for other nodes."""
        held = np.zeros((len(self.numbers), tree.size), np.bool_)
        for leaf_of_row in (tree.leaf_of_row, tree.second_leaf_of_row):
            leaves = leaf_of_row[self.rows]
            held[self.owners[leaves >= 0], leaves[leaves >= 0]] = True
        shares = np.zeros(tree.size)
        for weight, line in zip(self.weights.tolist(), held, strict=True):
            shares += weight * line
        return np.minimum(shares, 1.0)
