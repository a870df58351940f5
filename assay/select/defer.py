"""Deferral: moves near-duplicates to the end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from assay.engine.checks import check_number
from assay.engine.facts import vectors_of
from assay.engine.order import arrange
from assay.protocols import Snapshot
from assay.select.similarity import cosines
from assay.types import Note, Query, Range, Ranking


@dataclass(frozen=True, slots=True)
class Defer:
    """Moves a candidate too similar to an earlier one behind all others; the memory pipeline's diversity filter.

    In order: a candidate whose cosine with any candidate selected so far is above `cosine` is deferred, the others are
    selected. Nothing is dropped. Writes `tier`: deferred candidates get tiers below all present ones, in their order.
    Scores stay as they are. A chunk without a vector is similar to none.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"dense"})

    cosine: float = 0.85

    def __post_init__(self) -> None:
        check_number("defer.cosine", self.cosine, 0.0, 1.0)

    def select(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking:
        if len(ranking) < 2:
            return ranking
        vectors = vectors_of(ranking, snapshot).astype(np.float64)
        selected = np.empty_like(vectors)
        count = 0
        deferred = np.zeros(len(ranking), np.bool_)
        for place, vector in enumerate(vectors):
            if (cosines(selected[:count], vector) > self.cosine).any():
                deferred[place] = True
            else:
                selected[count] = vector
                count += 1
        if not deferred.any():
            return ranking
        below = ranking.tier.max() - ranking.tier.min() + 1
        moved = replace(ranking, tier=(ranking.tier + np.where(deferred, below, 0)).astype(np.int32))
        text = f"moved to the end: cosine above {self.cosine:g} with one that stands before it"
        return arrange(moved).noted(Note("info", text, tuple(ranking.ids[deferred].tolist())))

    def gives(self, scores: Range) -> Range:
        return scores
