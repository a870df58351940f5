"""Reciprocal rank fusion, plain and weighted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from assay.engine.checks import check_number
from assay.fuse.weighted import check_weighted_legs, check_weights, weighted_sum
from assay.protocols import Snapshot
from assay.types import Query, Range, Ranking


@dataclass(frozen=True, slots=True)
class Rrf:
    """Sums of reciprocal ranks, divided by the best sum the planned legs could give.

        score = Σ w / (c + rank)  ·  1 / Σ w / (c + 1)

    `rank` is the place in the leg's own ranking, from 1; a leg that missed a candidate adds 0. `c` damps the
    head of the lists (60 in the router policy and in weighted fusion). `weights` gives w by leg name, 1 where
    a leg is not named. Takes any scale, since it reads ranks only; gives unit scores, 1 for rank 1 in every leg. The
    undivided sum of those specifications is the fold of the parts before "normalise".
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    symmetric: ClassVar[bool] = True

    c: float = 60.0
    weights: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_number("rrf.c", self.c, 0.0, 10_000.0)
        check_weights("rrf", self.weights)

    def fuse(self, query: Query, rankings: Mapping[str, Ranking], snapshot: Snapshot) -> Ranking:
        weight = {leg: self.weights.get(leg, 1.0) for leg in rankings}
        return weighted_sum(
            rankings,
            {leg: weight[leg] / (self.c + np.arange(1.0, len(ranking) + 1.0)) for leg, ranking in rankings.items()},
            {leg: weight[leg] / (self.c + 1.0) for leg in rankings},
        )

    def gives(self, legs: Mapping[str, Range]) -> Range:
        check_weighted_legs("rrf", self.weights, legs)
        return Range("unit", 0.0, 1.0)
