"""Recency: a boost for new chunks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from assay.engine.checks import check_number, require_unit
from assay.engine.facts import fill_nan
from assay.engine.order import arrange
from assay.protocols import Snapshot
from assay.score.age import check_curve, compute_freshness
from assay.types import Note, Part, Query, Range, Ranking


@dataclass(frozen=True, slots=True)
class Recency:
    """Adds freshness; the first scoring stage of the memory pipeline.

        score = min(1, score + weight · exp(−age / tau_days))          or
        score = min(1, score + weight · 2 ** (−age / half_life_days))

    Ages in days at `query.at`; set one of the two curves (neither: tau_days = 14, as in the memory pipeline). An
    undated chunk gets 0; a query without `at` skips the stage, with a note. A curve or weight of 0 switches it off.
    Needs and gives unit scores; where min applies, there is a part "clamp".
    """

    needs: ClassVar[frozenset[str]] = frozenset()

    tau_days: float | None = None
    half_life_days: float | None = None
    weight: float = 0.1

    def __post_init__(self) -> None:
        object.__setattr__(self, "tau_days", check_curve("recency", self.tau_days, self.half_life_days, 14.0))
        check_number("recency.weight", self.weight, 0.0, 1.0)

    def apply(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking:
        if not (self.tau_days or self.half_life_days) or not self.weight or not len(ranking):
            return ranking
        if query.at is None:
            return ranking.noted(Note("skipped", "the query is not as of a moment", cure="say when (--at, or at=)"))
        fresh = compute_freshness(ranking, snapshot, query.at, self.tau_days, self.half_life_days)
        boost = self.weight * fill_nan(fresh, 0.0)
        return arrange(ranking.scored(Part("recency", "add", boost)).clamped())

    def gives(self, scores: Range) -> Range:
        require_unit("recency", scores)
        return Range("unit", scores.lo, min(1.0, scores.hi + self.weight))
