"""Importance: a prior from a chunk's importance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from assay.engine.checks import check_number, require_positive
from assay.engine.facts import numbers_of
from assay.engine.order import arrange
from assay.protocols import Snapshot
from assay.types import Part, Query, Range, Ranking


@dataclass(frozen=True, slots=True)
class Importance:
    """Multiplies by a prior after fusion, as the memory pipeline and weighted fusion do.

        score = score · (base + (1 − base) · importance)

    Importance is in [0, 1]; unknown counts as 1. With base 0.7 the least important chunk keeps 0.7 of its score.
    Takes any scale without negative scores, and keeps it.
    """

    needs: ClassVar[frozenset[str]] = frozenset()

    base: float = 0.7

    def __post_init__(self) -> None:
        check_number("importance.base", self.base, 0.0, 1.0)

    def apply(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking:
        if not len(ranking):
            return ranking
        importance = numbers_of(ranking, snapshot, "importance", unknown=1.0).clip(0.0, 1.0)
        return arrange(ranking.scored(Part("importance", "mul", self.base + (1.0 - self.base) * importance)))

    def gives(self, scores: Range) -> Range:
        require_positive("importance", scores)
        return Range(scores.scale, self.base * scores.lo, scores.hi)
