"""Upper bounds of BM25 below the nodes of a tree: the largest contribution of each term of a query.

The bounds of a leaf come from its stored words (`index.tree.leaf_words`), the rows added since, and, where a dead row
held the term, from its live rows anew: nothing of a dead row is left in a bound. An inner node has the maximum of its
children.
"""

from __future__ import annotations

import numpy as np

from assay.backend.shared.bm25 import LexicalView
from assay.backend.shared.query_terms import QueryTerms
from assay.index.tree.index import TreeIndex
from assay.types import Floats, Ints, Rows

_ROUNDING = 1.0 + 1e-9
"""More than rounding can lift a score, or a sum of contributions, above its bound."""


class ImpactBounds:
    """The bounds of one snapshot's tree; `leaf_of_row` and the second leaves are -1 for dead rows."""

    def __init__(self, index: TreeIndex, lexical: LexicalView, leaf_of_row: Ints, second_leaf_of_row: Ints) -> None:
        self._index = index
        self._lexical = lexical
        self._places = leaf_of_row, second_leaf_of_row
        self._start = len(index.leaf_of_row)
        self._last: tuple[tuple[str, ...], bytes, Floats] | None = None

    def bound(self, nodes: Rows, query: QueryTerms) -> Floats:
        """Return the bounds of nodes (lines) for the terms of a query (columns)."""
        key = tuple(query.terms), query.boosts.tobytes()
        last = self._last  # read once: another thread may replace it at any time
        if last is None or last[:2] != key:  # a walk down the tree asks for one query many times
            last = self._last = (*key, self._bound_all(query))
        return last[2][nodes]

    def _bound_all(self, query: QueryTerms) -> Floats:
        index, view = self._index, self._lexical
        bounds = np.zeros((index.size, len(query.terms)))
        if not index.size or not query.terms:
            return bounds
        weights = view.idf(query.terms) * query.boosts
        scale = max(1.0, view.average / index.average) * _ROUNDING
        for column, (term, weight) in enumerate(zip(query.terms, weights.tolist(), strict=True)):
            leaf_bounds = bounds[index.first_leaf :, column]
            number = index.vocabulary.term(term)
            leaves, impacts = index.words.entries(number)
            leaf_bounds[leaves] = impacts * scale
            self._replace_dead(leaf_bounds, number)
            self._add_tail(leaf_bounds, term)
            leaf_bounds *= weight
        return self._lift(bounds)

    def _replace_dead(self, leaf_bounds: Floats, number: int) -> None:
        """Compute the bounds anew of leaves in which a dead row held a term."""
        view, first = self._lexical, self._index.first_leaf
        if number < 0 or view.words is None or not len(view.dead):
            return
        held = view.dead[view.words.counts([number], view.dead.astype(np.int32))[0] > 0]
        if not len(held):
            return
        touched = np.unique(np.concatenate([self._index.leaf_of_row[held], self._index.second_leaf_of_row[held]]))
        touched = touched[touched >= 0]
        leaf_bounds[touched - first] = 0.0
        rows, counts = view.words.postings(number)
        for place in self._places:
            inside = np.isin(place[rows], touched)
            lengths = view.words.lengths[rows[inside]].astype(np.float64)
            gains = view.similarity.saturation(
                counts[inside].astype(np.float64), view.similarity.damping(lengths, view.average)
            )
            np.maximum.at(leaf_bounds, place[rows[inside]] - first, gains * _ROUNDING)

    def _add_tail(self, leaf_bounds: Floats, term: str) -> None:
        view = self._lexical
        if view.words is None or not view.tail_size:
            return  # without a generation the index holds the tail's rows
        positions, counts = view.tail.postings(term, view.tail_size)
        leaves = self._places[0][positions + self._start]
        alive = leaves >= 0
        damped = view.similarity.damping(view.tail_lengths[positions[alive]], view.average)
        gains = view.similarity.saturation(counts[alive], damped) * _ROUNDING
        np.maximum.at(leaf_bounds, leaves[alive] - self._index.first_leaf, gains)

    def _lift(self, bounds: Floats) -> Floats:
        """Give inner nodes the maxima of their children, from the leaves up."""
        index = self._index
        for level in range(int(index.level[-1]) - 1, -1, -1):
            inner = np.flatnonzero((index.level == level) & (index.child_count > 0))
            below = np.flatnonzero(index.level == level + 1)
            bounds[inner] = np.maximum.reduceat(bounds[below], index.first_child[inner] - below[0], axis=0)
        return bounds
