"""Length norm: a prior that lowers long chunks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.engine.checks import check_number, require_positive
from assay.engine.facts import numbers_of
from assay.engine.order import arrange
from assay.protocols import Snapshot
from assay.types import Part, Query, Range, Ranking


@dataclass(frozen=True, slots=True)
class Length:
    """Multiplies by a factor that falls with the logarithm of the length; the length norm of the memory pipeline.

        score = score / (1 + 0.5 · log2(max(chars / anchor, 1)))

    `anchor` is in characters: up to it the factor is 1, at twice the anchor 2/3, at four times 1/2; 0 switches
    the stage off. Unknown lengths change nothing. Takes any scale without negative scores, and keeps it.
    """

    needs: ClassVar[frozenset[str]] = frozenset()

    anchor: float = 500.0

    def __post_init__(self) -> None:
        check_number("length.anchor", self.anchor, 0.0)

    def apply(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking:
        if not self.anchor or not len(ranking):
            return ranking
        chars = numbers_of(ranking, snapshot, "chars", unknown=0.0)
        factor = 1.0 / (1.0 + 0.5 * np.log2(np.maximum(chars / self.anchor, 1.0)))
        return arrange(ranking.scored(Part("length", "mul", factor)))

    def gives(self, scores: Range) -> Range:
        require_positive("length", scores)
        return Range(scores.scale, scores.lo if not self.anchor else 0.0, scores.hi)
