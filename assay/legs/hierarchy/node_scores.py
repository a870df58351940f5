"""The two routers: how well each node of the tree fits a query.

maxpool  the best row below a node. Over all rows it is a bound of what routing can do, not a sublinear router; it then
         also gives the scores of the rows. Over the best rows of the word and the vector index it is as fast as they.
nodes    what the nodes say: bounds of BM25 and the entities of their leaves, and centroids. Reads no row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from assay.legs.hierarchy.query_entities import QueryEntities
from assay.legs.hierarchy.row_scores import RowScoreColumns, score_all_rows, score_rows
from assay.legs.hierarchy.weights import ScoreWeights
from assay.protocols import Snapshot, TreeView
from assay.types import Floats, Query, Rows
from assay.where import Mask

ROUTERS = ("maxpool", "nodes")
HIDDEN = -np.inf
"""The score of a node without a row that the query may see."""


@dataclass(frozen=True, slots=True, eq=False)
class NodeScores:
    """Scores of nodes, and what they are made of, by scorer.

    score       for every node; HIDDEN where the query may see no row below, NaN where `unknown` gives it
    name        the scorer that gave it
    cosine      the weighted cosines of nodes, which are added to `score`
    unknown     the scores of nodes that have none; like cosines they are computed when they are read: a walk reads few
    visible     the rows that the query may see, ascending; None: every live one
    rows        the scores of these rows, where the router read all of them
    best        the best row that was found below each node, -1 where none was; None: not looked for
    """

    score: Floats
    name: str
    cosine: Callable[[Rows], Floats] | None = None
    visible: Rows | None = None
    rows: RowScoreColumns | None = None
    best: Rows | None = None
    unknown: Callable[[Rows], Floats] | None = None

    def read(self, nodes: Rows) -> tuple[Floats, dict[str, Floats]]:
        """The scores of these nodes, and those of each scorer."""
        own = self.score[nodes]
        if self.unknown is not None:
            missing = np.isnan(own)
            own[missing] = self.unknown(nodes[missing])
        if self.cosine is None:
            return own, {self.name: own}
        cosine = self.cosine(nodes)
        return own + cosine, {self.name: own, "cosine": cosine}

    def rows_below(self, tree: TreeView, node: int) -> Rows:
        """The rows below a node that the query may see, ascending."""
        rows = tree.rows(node)
        return rows if self.visible is None else rows[contains(self.visible, rows)]


def contains(members: Rows, rows: Rows) -> Mask:
    """Which rows are among the members, which ascend."""
    if not len(members):
        return np.zeros(len(rows), np.bool_)
    found: Mask = members[np.minimum(np.searchsorted(members, rows), len(members) - 1)] == rows
    return found


def lift_maxima(scores: Floats, tree: TreeView) -> Floats:
    """Give every inner node the maximum of its children, from the leaves up, in place."""
    for level in range(tree.depth - 1, -1, -1):
        inner = np.flatnonzero(tree.level == level)
        below = np.flatnonzero(tree.level == level + 1)
        scores[inner] = np.maximum.reduceat(scores[below], tree.first_child[inner] - below[0])
    return scores


def score_by_rows(query: Query, tree: TreeView, weights: ScoreWeights, entities: QueryEntities) -> NodeScores:
    """The router `maxpool`: a node scores what its best visible row scores."""
    rows = score_all_rows(query, tree, weights, entities)
    score, of_rows = np.full(tree.size, HIDDEN), rows.score
    for leaf_of_row in (tree.leaf_of_row, tree.second_leaf_of_row):
        leaves = leaf_of_row[rows.rows]
        inside = leaves >= 0
        if inside.all():
            np.maximum.at(score, leaves, of_rows)
        elif inside.any():
            np.maximum.at(score, leaves[inside], of_rows[inside])
    lift_maxima(score, tree)
    return NodeScores(score, "best row", None, rows.rows, rows)


def score_by_found_rows(
    query: Query, snapshot: Snapshot, tree: TreeView, weights: ScoreWeights, entities: QueryEntities, pool: int
) -> NodeScores:
    """The router `maxpool` over the best `pool` rows by words and by vector: a node scores what the best of them below
    it scores. A node with none of them has the weighted cosine of its centroid, but not more than the worst of them."""
    rows = find_rows(query, snapshot, pool)
    of_rows = score_rows(query, snapshot, rows, weights, entities).score
    least = float(of_rows.min(initial=1.0))
    visible = _find_visible(query, tree)
    score = np.full(tree.size, np.nan)
    if visible is not None:
        score[_hide_nodes(tree, visible) == HIDDEN] = HIDDEN
    best = np.full(tree.size, -1, np.int64)
    order = np.lexsort((-rows, of_rows))  # the last one that is written is the best one, or the smallest of equal ones
    for leaf_of_row in (tree.leaf_of_row, tree.second_leaf_of_row):
        nodes, places = leaf_of_row[rows[order]].astype(np.int64), order
        while (inside := nodes >= 0).any():
            nodes, places = nodes[inside], places[inside]
            better = ~(of_rows[places] <= score[nodes])
            score[nodes[better]], best[nodes[better]] = of_rows[places[better]], rows[places[better]]
            nodes = tree.parent[nodes].astype(np.int64)

    def score_others(nodes: Rows) -> Floats:
        return np.minimum(weights.cosine * _find_cosines(query, tree, nodes, 0), least)

    return NodeScores(score, "best row", None, visible, None, best, score_others)


def find_rows(query: Query, snapshot: Snapshot, pool: int) -> Rows:
    """The best rows by words and the best by vector, ascending, each once."""
    found = [np.empty(0, np.int64)]
    if query.text.strip() and "lexical" in snapshot.capabilities:
        found.append(snapshot.lexical(query, pool).rows)
    if query.vector is not None and "dense" in snapshot.capabilities:
        found.append(snapshot.nearest(query, pool).rows)
    return np.unique(np.concatenate(found))


def score_by_nodes(
    query: Query, tree: TreeView, weights: ScoreWeights, entities: QueryEntities, prototypes: int = 0
) -> NodeScores:
    """The router `nodes`: words and entities of the best leaf below a node, and the cosine of its centroid.

    Words and entities of a leaf are added before the maximum over the leaves is taken: the maxima of single terms
    would join words of chunks that have nothing to do with each other. With `prototypes` the cosine is the best of so
    many rows that stand for a node, instead of the centroid's.
    """
    leaves = np.flatnonzero(tree.child_count == 0)
    bm25 = tree.impacts(leaves, query).sum(axis=1)
    words = np.full(tree.size, HIDDEN)
    words[leaves] = weights.lexical * (bm25 / (float(bm25.max(initial=0.0)) or 1.0))
    words[leaves] += weights.entity * entities.share_of_leaves(tree)[leaves]
    visible = _find_visible(query, tree)
    if visible is not None:
        words[leaves] += _hide_nodes(tree, visible)[leaves]
    lift_maxima(words, tree)

    def find_cosines(nodes: Rows) -> Floats:
        return weights.cosine * _find_cosines(query, tree, nodes, prototypes)

    return NodeScores(words, "words", find_cosines, visible)


def _find_visible(query: Query, tree: TreeView) -> Rows | None:
    """The rows that a query with a filter may see, ascending."""
    if query.where is None and query.scope is None and query.at is None:
        return None
    return np.flatnonzero(tree.visible(query))


def _hide_nodes(tree: TreeView, visible: Rows) -> Floats:
    """0 for the nodes above visible rows, HIDDEN for the others."""
    column = np.full(tree.size, HIDDEN)
    column[tree.leaf_of_row[visible]] = 0.0
    second = tree.second_leaf_of_row[visible]
    column[second[second >= 0]] = 0.0
    return lift_maxima(column, tree)


def _find_cosines(query: Query, tree: TreeView, nodes: Rows, prototypes: int) -> Floats:
    vector, centroids = query.vector, tree.centroids
    if vector is None or centroids.shape[1] != len(vector):
        return np.zeros(len(nodes))
    wide = vector.astype(np.float64)
    if not prototypes:
        cosines: Floats = np.clip(np.vecdot(centroids[nodes].astype(np.float64), wide), 0.0, 1.0)
        return cosines
    owners, _, vectors = tree.prototypes(nodes)
    kept = np.arange(len(owners)) - np.searchsorted(owners, owners) < prototypes
    best = np.zeros(len(nodes))
    np.maximum.at(best, owners[kept], np.vecdot(vectors[kept].astype(np.float64), wide))
    return np.minimum(best, 1.0)
