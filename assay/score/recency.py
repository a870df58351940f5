"""A boost for what is new."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from assay.engine.checks import check_number, require_unit
from assay.engine.facts import known_or
from assay.engine.order import arrange
from assay.protocols import Snapshot
from assay.score.age import freshness, one_curve
from assay.types import Note, Part, Query, Range, Ranking


@dataclass(frozen=True, slots=True)
class Recency:
    """Adds freshness; the first scoring stage of 002.

        score = min(1, score + weight · exp(−age / tau_days))          or
        score = min(1, score + weight · 2 ** (−age / half_life_days))

    Ages in days at `query.at`; give one of the two curves (neither: tau_days = 14, as in 002). An undated chunk
    gets 0; a query without `at` skips the stage, on the record. A curve or weight of 0 switches it off. Needs
    and gives unit scores; where min bites, a part "clamp" says so.
    """

    needs: ClassVar[frozenset[str]] = frozenset()

    tau_days: float | None = None
    half_life_days: float | None = None
    weight: float = 0.1

    def __post_init__(self) -> None:
        object.__setattr__(self, "tau_days", one_curve("recency", self.tau_days, self.half_life_days, 14.0))
        check_number("recency.weight", self.weight, 0.0, 1.0)

    def apply(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking:
        if not (self.tau_days or self.half_life_days) or not self.weight or not len(ranking):
            return ranking
        if query.at is None:
            return ranking.noted(Note("skipped", "the query is not as of a moment; cure: say when (--at, or at=)"))
        fresh = freshness(ranking, snapshot, query.at, self.tau_days, self.half_life_days)
        boost = self.weight * known_or(fresh, 0.0)
        return arrange(ranking.scored(Part("recency", "add", boost)).clamped())

    def gives(self, given: Range) -> Range:
        require_unit("recency", given)
        return Range("unit", given.lo, min(1.0, given.hi + self.weight))
