"""Time decay: a prior that lowers old chunks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from assay.engine.checks import check_number, require_positive
from assay.engine.facts import fill_nan
from assay.engine.order import arrange
from assay.protocols import Snapshot
from assay.score.age import check_curve, compute_freshness
from assay.types import Note, Part, Query, Range, Ranking


@dataclass(frozen=True, slots=True)
class Decay:
    """Multiplies by a factor that falls with age; the time decay of the memory pipeline.

        score = score · (floor + (1 − floor) · exp(−age / tau_days))          or
        score = score · (floor + (1 − floor) · 2 ** (−age / half_life_days))

    Ages in days at `query.at`; set one of the two curves (neither: tau_days = 60, as in the memory pipeline). No chunk
    loses more than 1 − `floor` of its score. An undated chunk keeps its score; a query without `at` skips the stage,
    with a note. A curve of 0 switches it off. Takes any scale without negative scores, and keeps it.
    """

    needs: ClassVar[frozenset[str]] = frozenset()

    tau_days: float | None = None
    half_life_days: float | None = None
    floor: float = 0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "tau_days", check_curve("decay", self.tau_days, self.half_life_days, 60.0))
        check_number("decay.floor", self.floor, 0.0, 1.0)

    def apply(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking:
        if not (self.tau_days or self.half_life_days) or not len(ranking):
            return ranking
        if query.at is None:
            return ranking.noted(Note("skipped", "the query is not as of a moment", cure="say when (--at, or at=)"))
        fresh = compute_freshness(ranking, snapshot, query.at, self.tau_days, self.half_life_days)
        left = self.floor + (1.0 - self.floor) * fill_nan(fresh, 1.0)
        return arrange(ranking.scored(Part("decay", "mul", left)))

    def gives(self, scores: Range) -> Range:
        require_positive("decay", scores)
        return Range(scores.scale, self.floor * scores.lo, scores.hi)
