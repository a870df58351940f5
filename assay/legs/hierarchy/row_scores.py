"""Scores of chunks: a convex combination of words, vector and entities, the same in the legs beam and collapsed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.engine.order import arrange
from assay.index.vectors import exact_scores
from assay.legs.hierarchy.query_entities import QueryEntities
from assay.legs.hierarchy.weights import ScoreWeights
from assay.protocols import Snapshot, TreeView
from assay.types import Floats, Part, Query, Ranking, Rows


@dataclass(frozen=True, slots=True, eq=False)
class RowScoreColumns:
    """Rows with the three weighted scores, whose sum is `score`, in [0, 1]."""

    rows: Rows
    lexical: Floats
    cosine: Floats
    entity: Floats

    @property
    def score(self) -> Floats:
        return self.lexical + self.cosine + self.entity

    def score_of(self, rows: Rows) -> Floats:
        """The score of some of the rows."""
        places = np.searchsorted(self.rows, rows)
        return self.lexical[places] + self.cosine[places] + self.entity[places]

    def take(self, places: Rows) -> RowScoreColumns:
        """The same for some of the rows."""
        return RowScoreColumns(self.rows[places], self.lexical[places], self.cosine[places], self.entity[places])

    @property
    def parts(self) -> list[Part]:
        """The score as parts."""
        return [
            Part("words", "add", self.lexical),
            Part("cosine", "add", self.cosine),
            Part("entities", "add", self.entity),
        ]

    def rank(self, snapshot: Snapshot) -> Ranking:
        """The rows in the one order."""
        return arrange(Ranking.of(snapshot.ids(self.rows), self.parts, "unit", rows=self.rows))


def score_all_rows(query: Query, tree: TreeView, weights: ScoreWeights, entities: QueryEntities) -> RowScoreColumns:
    """Score every row that the query may see. The best BM25 score among them counts as 1."""
    found = tree.row_scores(query)
    best = float(found.bm25.max(initial=0.0))
    return RowScoreColumns(
        found.rows,
        weights.lexical * (found.bm25 / (best or 1.0)),
        weights.cosine * np.clip(found.cosine, 0.0, 1.0),
        weights.entity * entities.share_of(found.rows),
    )


def score_rows(
    query: Query, snapshot: Snapshot, rows: Rows, weights: ScoreWeights, entities: QueryEntities
) -> RowScoreColumns:
    """Score these rows. The best BM25 score among them counts as 1."""
    bm25 = find_bm25(query, snapshot, rows)
    best = float(bm25.max(initial=0.0))
    cosine = np.zeros(len(rows))
    vectors = snapshot.vectors(rows)
    if query.vector is not None and vectors.shape[1] == len(query.vector):
        cosine = np.clip(exact_scores(vectors, query.vector), 0.0, 1.0)
    return RowScoreColumns(
        rows,
        weights.lexical * (bm25 / (best or 1.0)),
        weights.cosine * cosine,
        weights.entity * entities.share_of(rows),
    )


def find_bm25(query: Query, snapshot: Snapshot, rows: Rows) -> Floats:
    """The BM25 scores of these rows."""
    total = np.zeros(len(rows))
    if query.text.strip() and len(rows) and "lexical" in snapshot.capabilities:
        for part in snapshot.lexical_at(query, rows).parts:
            total += part.column
    return total
