"""The entities that a query names, as scores of rows and leaves: cross-links used for routing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.protocols import EntityPostings, EntitySnapshot, Snapshot, TreeView
from assay.text.names import find_compounds
from assay.types import Floats, Query, Rows

MOST_ROWS, LEAST_MOST, SHARE = 4_000, 16, 0.02
"""A compound word in more rows than min(4,000, max(16, 2 % of all)) names nothing, as in the graph."""


@dataclass(frozen=True, slots=True, eq=False)
class QueryEntities:
    """The rows that hold an entity of the query, ascending, with the share of the entities' weight that each holds.

    Entities are those of the graph, and compound words (sable-loader, tkt-5320), which the graph does not read as names
    or leaves out because one row holds them. An entity weighs ln(1 + N / df). `names` has them all.
    """

    names: tuple[str, ...]
    shared_rows: Rows
    shares: Floats

    @staticmethod
    def find(query: Query, snapshot: Snapshot) -> QueryEntities:
        """Look up the entities of a query; a store without cross-links has none."""
        if query.text.strip() and "graph" in snapshot.capabilities and isinstance(snapshot, EntitySnapshot):
            return _look_up(query, snapshot.size, snapshot.entities())
        return _NONE

    def share_of(self, rows: Rows) -> Floats:
        """The share of each of these rows."""
        if not len(self.shared_rows):
            return np.zeros(len(rows))
        places = np.minimum(np.searchsorted(self.shared_rows, rows), len(self.shared_rows) - 1)
        return np.where(self.shared_rows[places] == rows, self.shares[places], 0.0)

    def share_of_leaves(self, tree: TreeView) -> Floats:
        """For each node that is a leaf, the largest share of one of its rows; 0 for other nodes. What several rows hold
        together says nothing: a comparison names two things, and one row of the answer holds one of them."""
        shares = np.zeros(tree.size)
        for leaf_of_row in (tree.leaf_of_row, tree.second_leaf_of_row):
            leaves = leaf_of_row[self.shared_rows]
            np.maximum.at(shares, leaves[leaves >= 0], self.shares[leaves >= 0])
        return shares


_NONE = QueryEntities((), np.empty(0, np.int64), np.empty(0))


def _look_up(query: Query, size: int, links: EntityPostings) -> QueryEntities:
    numbers = links.query_entities(query.text)
    names = [links.name(number) for number in numbers.tolist()]
    owners, rows = links.rows_of(numbers, query)
    frequency = links.frequency(numbers)
    words = [word for word in find_compounds(query.text) if word not in names]
    if words:
        word_owners, word_rows = links.rows_of_terms(words, query)
        counts = np.bincount(word_owners, minlength=len(words))
        most = min(MOST_ROWS, max(LEAST_MOST, SHARE * size))
        places = np.flatnonzero((counts > 0) & (counts <= most))
        kept = np.isin(word_owners, places)
        owners = np.concatenate([owners, len(names) + np.searchsorted(places, word_owners[kept])])
        rows = np.concatenate([rows, word_rows[kept]])
        frequency = np.concatenate([frequency, counts[places]])
        names += [words[place] for place in places.tolist()]
    if not names:
        return _NONE
    weights = np.log1p(size / np.maximum(frequency, 1))
    weights = weights / weights.sum()
    shared_rows, places = np.unique(rows, return_inverse=True)
    shares = np.minimum(np.bincount(places, weights[owners], minlength=len(shared_rows)), 1.0)
    return QueryEntities(tuple(names), shared_rows, shares)
