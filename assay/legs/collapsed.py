"""Collapsed leg: chunks and the summaries of nodes in one ranking, with a quota for each facet of the query."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from assay.engine.checks import check_whole
from assay.engine.order import arrange, top
from assay.errors import StoreError
from assay.legs.hierarchy.query_entities import QueryEntities
from assay.legs.hierarchy.row_scores import RowScoreColumns, score_rows
from assay.legs.hierarchy.weights import COSINE, ENTITY, LEXICAL, ScoreWeights
from assay.protocols import Snapshot, TreeSnapshot, TreeView
from assay.text.query.parse import find_facets
from assay.types import Floats, Note, Part, Query, Range, Ranking, Rows, Vector, Vectors

_ROUGH = 1e-3
"""More than float32 can move a dot product of two unit vectors, twice."""


@dataclass(frozen=True, slots=True)
class Collapsed:
    """score = s as in the leg beam, or with a summary's cosine; several facets: (s + 1) / 2 within a quota, else s / 2

    Candidates are the best `pool` chunks by words and by vector, and the chunks whose sentences are in the best
    `summaries` summaries by vector. A summary is ranked like a chunk by its vector; only chunks can be results, so it
    passes its cosine to the chunks it consists of: each has the larger one of its own and its summaries' (the part
    `summary` says by how much). Nodes are not walked, and no bridge is followed.

    A query with a list ("compare the leave policies of Berlin and Madrid") has a facet for each item, and each is
    searched for by itself with the query's vector. The best `quota` chunks of every facet come before all others. A
    chunk has the score of the facet it fits best. Gives unit scores.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"tree"})
    wants: ClassVar[frozenset[str]] = frozenset({"tree", "vector"})
    parallel_weight: ClassVar[int] = 1

    pool: int = 100
    summaries: int = 8
    quota: int = 3
    lexical: float = LEXICAL
    cosine: float = COSINE
    entity: float = ENTITY

    def __post_init__(self) -> None:
        check_whole("collapsed.pool", self.pool, 1)
        check_whole("collapsed.summaries", self.summaries, 0)
        check_whole("collapsed.quota", self.quota, 0)
        ScoreWeights.make("collapsed", self.lexical, self.cosine, self.entity)

    def gives(self) -> Range:
        return Range("unit", 0.0, 1.0)

    def find(self, query: Query, snapshot: Snapshot, k: int, seeds: Ranking | None = None) -> Ranking:
        if not isinstance(snapshot, TreeSnapshot):
            raise StoreError("this store says it has a tree, but cannot show it", "use a store in a folder")
        weights = ScoreWeights.make("collapsed", self.lexical, self.cosine, self.entity)
        facets = find_facets(query.text, query.at) if query.text.strip() else (query.text,)
        near = self._find_near(query, snapshot)
        lent = self._find_summaries(query, snapshot, snapshot.tree(), weights)
        rankings = [self._rank_facet(replace(query, text=facet), snapshot, near, lent, weights) for facet in facets]
        ranking = arrange(self._unite(snapshot, rankings))
        shown = ", ".join(repr(facet) for facet in facets) if len(facets) > 1 else "one facet"
        note = Note("detail", f"searched for {shown}", data={"facets": list(facets), "summaries": lent.nodes.tolist()})
        return top(ranking, k).noted(note)

    def _find_near(self, query: Query, snapshot: Snapshot) -> Rows:
        if query.vector is None or "dense" not in snapshot.capabilities:
            return np.empty(0, np.int64)
        return snapshot.nearest(query, self.pool).rows

    def _find_summaries(self, query: Query, snapshot: Snapshot, tree: TreeView, weights: ScoreWeights) -> _LentCosines:
        """The rows of the best summaries by vector, each with the largest cosine of its summaries, weighted."""
        none = np.empty(0, np.int64)
        if query.vector is None or not tree.size or not self.summaries:
            return _LentCosines(none, none, np.empty(0))
        vectors = tree.summary_vectors(np.arange(tree.size))
        if vectors.shape[1] != len(query.vector):
            return _LentCosines(none, none, np.empty(0))
        nodes, cosines = find_nearest(vectors, query.vector, self.summaries)
        owners, rows = tree.summary_rows(nodes)
        lent = weights.cosine * np.clip(cosines[owners], 0.0, 1.0)
        if query.where is not None or query.scope is not None or query.at is not None:
            visible = tree.visible(query)[rows]
            rows, lent = rows[visible], lent[visible]
        order = np.lexsort((-lent, rows))
        rows, lent = rows[order], lent[order]
        first = np.concatenate([[True], rows[1:] != rows[:-1]])[: len(rows)]
        return _LentCosines(nodes, rows[first], lent[first])

    def _rank_facet(
        self, query: Query, snapshot: Snapshot, near: Rows, lent: _LentCosines, weights: ScoreWeights
    ) -> _FacetScores:
        matched = np.empty(0, np.int64)
        if query.text.strip() and "lexical" in snapshot.capabilities:
            matched = snapshot.lexical(query, self.pool).rows
        rows = np.unique(np.concatenate([matched, near, lent.rows]))
        entities = QueryEntities.find(query, snapshot)
        scored = score_rows(query, snapshot, rows, weights, entities)
        summary = np.maximum(lent.of(rows) - scored.cosine, 0.0)
        score = scored.score + summary
        quota = np.zeros(len(rows))
        quota[np.lexsort((rows, -score))[: self.quota]] = 1.0
        return _FacetScores(scored, summary, score, quota)

    def _unite(self, snapshot: Snapshot, facets: list[_FacetScores]) -> Ranking:
        """Each row once, with the facet in which it has the highest score, quota first."""
        rows = np.concatenate([facet.scored.rows for facet in facets])
        value = np.concatenate([facet.score + facet.quota for facet in facets])
        order = np.lexsort((-value, rows))
        first = np.concatenate([[True], rows[order][1:] != rows[order][:-1]])[: len(rows)]
        chosen = order[first]

        def join(columns: list[Floats]) -> Floats:
            joined: Floats = np.concatenate(columns)[chosen]
            return joined

        parts = [
            Part(part.name, "add", join([facet.scored.parts[place].column for facet in facets]))
            for place, part in enumerate(facets[0].scored.parts)
        ]
        parts.append(Part("summary", "add", join([facet.summary for facet in facets])))
        if len(facets) > 1:
            parts.append(Part("facet quota", "add", join([facet.quota for facet in facets])))
            parts.append(Part("normalise", "mul", np.full(len(chosen), 0.5)))
        return Ranking.of(snapshot.ids(rows[chosen]), parts, "unit", rows=rows[chosen]).clamped()


def find_nearest(vectors: Vectors, query: Vector, count: int) -> tuple[Rows, Floats]:
    """The places of the best vectors, best first, and their dot products in float64.

    A product in float32 finds every vector that can be among them: all are of unit length, so it is off by less than
    the slack.
    """
    rough = np.vecdot(vectors, query)  # a matrix product would start threads, which wait for each other
    places = np.arange(len(vectors))
    if count < len(vectors):
        least = np.partition(rough, len(rough) - count)[len(rough) - count]
        places = np.flatnonzero(rough >= least - _ROUGH)
    cosines = np.vecdot(vectors[places].astype(np.float64), query.astype(np.float64))
    order = np.lexsort((places, -cosines))[:count]
    return places[order], cosines[order]


@dataclass(frozen=True, slots=True, eq=False)
class _LentCosines:
    """The best summaries, and the rows they consist of, ascending, with what each row is lent."""

    nodes: Rows
    rows: Rows
    cosines: Floats

    def of(self, rows: Rows) -> Floats:
        """What these rows, which ascend and include the lent ones, are lent; 0 for others."""
        column = np.zeros(len(rows))
        column[np.searchsorted(rows, self.rows)] = self.cosines
        return column


@dataclass(frozen=True, slots=True, eq=False)
class _FacetScores:
    scored: RowScoreColumns
    summary: Floats
    score: Floats
    quota: Floats
