"""Maximal marginal relevance, in its textbook form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from assay.engine.checks import check_number, require_unit
from assay.engine.facts import vectors_of
from assay.engine.order import arrange
from assay.protocols import Snapshot
from assay.select.similarity import cosines
from assay.types import Query, Range, Ranking


@dataclass(frozen=True, slots=True)
class Mmr:
    """Places next the candidate that is most relevant and least similar to those already placed.

        next = argmax  lam · score − (1 − lam) · max cosine with those placed      (the first: argmax score)

    Ties go to the earlier candidate. `lam` = 1 keeps the order, 0 uses similarity only. A chunk without a vector has
    cosine 0 with all others. If the ranking has tiers, each tier is placed completely before the next.

    Writes `tier`: the place, from 0, which alone decides the order; the scores stay, so they no longer fall from place
    to place. Needs unit scores, so that they compare with cosines.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"dense"})

    lam: float = 0.7

    def __post_init__(self) -> None:
        check_number("mmr.lam", self.lam, 0.0, 1.0)

    def select(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking:
        size = len(ranking)
        if size < 2:
            return ranking
        vectors = vectors_of(ranking, snapshot).astype(np.float64)
        likeness = np.full(size, -np.inf)  # the highest cosine with anything placed so far
        waiting = np.ones(size, np.bool_)
        tier = np.empty(size, np.int32)
        for place in range(size):
            gain = ranking.score if place == 0 else self.lam * ranking.score - (1.0 - self.lam) * likeness
            selectable = waiting & (ranking.tier == ranking.tier[waiting].min())
            chosen = int(np.argmax(np.where(selectable, gain, -np.inf)))
            tier[chosen] = place
            waiting[chosen] = False
            likeness = np.maximum(likeness, cosines(vectors, vectors[chosen]))
        return arrange(replace(ranking, tier=tier))

    def gives(self, scores: Range) -> Range:
        require_unit("mmr", scores)
        return scores
