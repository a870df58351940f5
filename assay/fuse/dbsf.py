"""Distribution-based score fusion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from assay.engine.checks import check_number
from assay.fuse.weighted import check_weighted_legs, check_weights, weighted_sum
from assay.protocols import Snapshot
from assay.types import Floats, Query, Range, Ranking


@dataclass(frozen=True, slots=True)
class Dbsf:
    """Weighted mean of the legs' scores, each normalised to [0, 1] by its mean and standard deviation.

        score = Σ w · n(s) / Σ w        n(s) = clip((s − (μ − dσ)) / 2dσ, 0, 1)        d = `deviations`

    μ and σ are the mean and the population standard deviation of the leg's scores for this query. One hit, or
    hits of equal scores, equal their mean: n = 0.5. A leg that missed a candidate adds 0. `weights`
    gives w by leg name, 1 where not named. Takes any scale, gives unit scores.

    d = 3 is the published form. It clips outliers, such as the best hit for an identifier.
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    symmetric: ClassVar[bool] = True

    weights: Mapping[str, float] = field(default_factory=dict)
    deviations: float = 3.0

    def __post_init__(self) -> None:
        check_number("dbsf.deviations", self.deviations, 0.5, 100.0)
        check_weights("dbsf", self.weights)

    def fuse(self, query: Query, rankings: Mapping[str, Ranking], snapshot: Snapshot) -> Ranking:
        weight = {leg: self.weights.get(leg, 1.0) for leg in rankings}
        normal = {
            leg: weight[leg] * normalise_by_deviation(ranking.score, self.deviations)
            for leg, ranking in rankings.items()
        }
        return weighted_sum(rankings, normal, weight)

    def gives(self, legs: Mapping[str, Range]) -> Range:
        check_weighted_legs("dbsf", self.weights, legs)
        return Range("unit", 0.0, 1.0)


def normalise_by_deviation(score: Floats, deviations: float) -> Floats:
    """n(s) of every score, as above."""
    if not len(score):
        return score
    low, high = score.min(), score.max()
    if high == low:
        return np.full(len(score), 0.5)
    # n(s) is invariant under affine maps of the scores; on [0, 1] the squares neither under- nor overflow.
    place: Floats = (score - low) / (high - low)
    return np.clip((place - float(place.mean())) / (2.0 * deviations * float(place.std())) + 0.5, 0.0, 1.0)
