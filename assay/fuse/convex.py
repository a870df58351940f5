"""Convex combination of normalised scores: min-max, and TM2C2 with theoretical minima."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from assay.engine.checks import check_choice, check_number
from assay.errors import ConfigError, nearest
from assay.fuse.weighted import check_weighted_legs, check_weights, weighted_sum
from assay.protocols import Snapshot
from assay.types import Floats, Query, Range, Ranking

MINIMA: Mapping[str, float] = {"bm25": 0.0, "dense": -1.0, "graph": 0.0}
"""Theoretical minima by leg name: BM25 and the mass of a graph walk are at least 0, a cosine at least -1."""

NORMS = ("min-max", "tm2c2")


@dataclass(frozen=True, slots=True)
class Convex:
    """Weighted mean of the legs' scores, each normalised to [0, 1] over its own list.

        score = Σ w · n(s) / Σ w        n(s) = (s − low) / (high − low)

    `high` is the leg's best score for this query. `low` is its worst one (`norm = "min-max"`), or the lowest
    score it can ever give (`norm = "tm2c2"`, the theoretical minimum; the challenger in weighted fusion), from
    `minima` by leg name, else 0 for a leg called bm25 or graph and -1 for one called dense. A leg that missed a
    candidate adds 0.

    When high = low, n is 1 under min-max and 0 under tm2c2. `weights` gives w by leg name, 1 where not named. Takes any
    scale, gives unit scores. Others call the min-max form relative score fusion.
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    symmetric: ClassVar[bool] = True

    norm: Literal["min-max", "tm2c2"] = "min-max"
    weights: Mapping[str, float] = field(default_factory=dict)
    minima: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_choice("convex.norm", self.norm, NORMS)
        check_weights("convex", self.weights)
        for leg, low in self.minima.items():
            check_number(f"convex.minima.{leg}", low, -1e9, 1e9)
        if self.minima and self.norm != "tm2c2":
            raise ConfigError("convex.minima has no effect under norm = 'min-max'", "set norm = 'tm2c2', or drop it")

    def fuse(self, query: Query, rankings: Mapping[str, Ranking], snapshot: Snapshot) -> Ranking:
        weight = {leg: self.weights.get(leg, 1.0) for leg in rankings}
        scores = {leg: self._normalise(leg, ranking.score) for leg, ranking in rankings.items()}
        return weighted_sum(rankings, {leg: weight[leg] * scores[leg] for leg in rankings}, weight)

    def gives(self, legs: Mapping[str, Range]) -> Range:
        check_weighted_legs("convex", self.weights, legs)
        for leg in self.minima:
            if leg not in legs:
                raise ConfigError(f"convex.minima names {leg!r}, which is no leg of this pipeline", nearest(leg, legs))
        if self.norm == "tm2c2":
            for leg, scores in legs.items():
                self._check_minimum(leg, scores)
        return Range("unit", 0.0, 1.0)

    def _check_minimum(self, leg: str, scores: Range) -> None:
        low = self._minimum(leg)
        if low is None:
            raise ConfigError(
                f"convex: norm = 'tm2c2' needs the lowest score that leg {leg!r} can give",
                f"add {leg} = {scores.lo:g} to convex.minima",
            )
        if low > scores.lo:
            raise ConfigError(
                f"convex.minima.{leg} = {low:g} is above the lowest score of that leg, {scores.lo:g}",
                f"set it to {scores.lo:g}",
            )

    def _minimum(self, leg: str) -> float | None:
        return self.minima.get(leg, MINIMA.get(leg))

    def _normalise(self, leg: str, score: Floats) -> Floats:
        if not len(score):
            return score
        high, low = float(score.max()), float(score.min())
        if self.norm == "min-max":
            return (score - low) / (high - low) if high > low else np.ones(len(score))
        bottom = self._minimum(leg)
        if bottom is None:
            raise ConfigError(f"convex: no theoretical minimum for leg {leg!r}", f"add {leg} to convex.minima")
        return np.maximum(score - bottom, 0.0) / (high - bottom) if high > bottom else np.zeros(len(score))
