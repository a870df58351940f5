"""Score fusion that scales a leg by its usual spread, not by the spread it happens to have for this query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from assay.engine.checks import check_number
from assay.errors import ConfigError, nearest
from assay.fuse.dbsf import normalise_by_deviation
from assay.fuse.weighted import check_weighted_legs, check_weights, weighted_sum
from assay.protocols import Snapshot
from assay.types import Floats, Query, Range, Ranking

SMALLEST, LARGEST = 1e-4, 1e4


@dataclass(frozen=True, slots=True)
class FixedSpread:
    """Weighted mean of the legs' scores, each as a distance from its mean in units of a spread.

        score = Σ w · n(s) / Σ w        n(s) = clip((s − μ) / 2dσ + ½, 0, 1)        d = `deviations`

    μ is the mean of the leg's scores for this query. σ is the leg's entry in `spreads`; a leg without one has the
    standard deviation of its scores for this query, as in `dbsf`. `weights` gives w by leg name, 1 where not named.

    Cosines of one model mean the same in every query. A query whose candidates are all equally near then takes its
    order from the words, and one with a clear favourite follows it; dividing by the query's own deviation would make
    both look alike. The usual spread is a property of the model, so every encoder has its own number. A leg that missed
    a candidate adds 0. Takes any scale, gives unit scores.
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    symmetric: ClassVar[bool] = True

    spreads: Mapping[str, float] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    deviations: float = 6.0

    def __post_init__(self) -> None:
        check_number("fixed_spread.deviations", self.deviations, 0.5, 100.0)
        check_weights("fixed_spread", self.weights)
        for leg, spread in self.spreads.items():
            check_number(f"fixed_spread.spreads.{leg}", spread, SMALLEST, LARGEST)

    def fuse(self, query: Query, rankings: Mapping[str, Ranking], snapshot: Snapshot) -> Ranking:
        weight = {leg: self.weights.get(leg, 1.0) for leg in rankings}
        normal = {leg: weight[leg] * self._normalise(leg, ranking.score) for leg, ranking in rankings.items()}
        return weighted_sum(rankings, normal, weight)

    def gives(self, legs: Mapping[str, Range]) -> Range:
        check_weighted_legs("fixed_spread", self.weights, legs)
        for leg in self.spreads:
            if leg not in legs:
                raise ConfigError(
                    f"fixed_spread.spreads names {leg!r}, which is no leg of this pipeline", nearest(leg, legs)
                )
        return Range("unit", 0.0, 1.0)

    def _normalise(self, leg: str, score: Floats) -> Floats:
        spread = self.spreads.get(leg)
        if spread is None or not len(score):
            return normalise_by_deviation(score, self.deviations)
        return np.clip((score - float(score.mean())) / (2.0 * self.deviations * spread) + 0.5, 0.0, 1.0)
