"""Weighted mean of scores that are comparable as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from assay.engine.checks import require_unit
from assay.fuse.weighted import check_weighted_legs, check_weights, weighted_sum
from assay.protocols import Snapshot
from assay.types import Query, Range, Ranking


@dataclass(frozen=True, slots=True)
class WeightedMerge:
    """Weighted mean of unit scores: the router policy's third mode, and the memory pipeline's two weights.

        score = Σ w · s / Σ w

    `weights` gives w by leg name, 1 where not named (memory pipeline: dense 0.7, bm25 0.3). A leg that missed a
    candidate adds 0. Scores are not normalised per list: the legs must give unit scores. Gives unit scores.
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    symmetric: ClassVar[bool] = True

    weights: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_weights("weighted_merge", self.weights)

    def fuse(self, query: Query, rankings: Mapping[str, Ranking], snapshot: Snapshot) -> Ranking:
        weight = {leg: self.weights.get(leg, 1.0) for leg in rankings}
        return weighted_sum(rankings, {leg: weight[leg] * ranking.score for leg, ranking in rankings.items()}, weight)

    def gives(self, legs: Mapping[str, Range]) -> Range:
        check_weighted_legs("weighted_merge", self.weights, legs)
        for leg, scores in legs.items():
            require_unit(f"weighted_merge (leg {leg!r})", scores)
        return Range("unit", 0.0, max(scores.hi for scores in legs.values()))
