"""Triggers that compare scores with a threshold. They need unit scores and refuse raw ones (law 8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from assay.engine.checks import check_number, require_unit
from assay.protocols import Snapshot, TriggerDecision
from assay.triggers.leg_choice import choose_leg
from assay.types import Query, Range, Ranking


@dataclass(frozen=True, slots=True)
class TopScoreBelow:
    """Fires when a leg's best score is below `score`; a leg that found nothing scores 0."""

    score: float = 0.5
    leg: str = ""

    def __post_init__(self) -> None:
        check_number("top_score_below.score", self.score, 0.0, 1.0)

    def fires(self, query: Query, rankings: Mapping[str, Ranking], snapshot: Snapshot, k: int) -> TriggerDecision:
        name, ranking = choose_leg("top_score_below", self.leg, rankings)
        best = float(ranking.score[0]) if len(ranking) else 0.0
        why = f"top_score_below {self.score:g}, {name} scored {best:.4g}"
        return TriggerDecision(best < self.score, why, "top_score_below", best)

    def check(self, legs: Mapping[str, Range]) -> None:
        name, scores = choose_leg("top_score_below", self.leg, legs)
        require_unit(f"top_score_below (leg {name!r})", scores)


@dataclass(frozen=True, slots=True)
class MarginBelow:
    """Fires when a leg's best candidate leads the second by less than `margin`.

    A single candidate leads by its whole score; a leg that found nothing leads by 0.
    """

    margin: float = 0.05
    leg: str = ""

    def __post_init__(self) -> None:
        check_number("margin_below.margin", self.margin, 0.0, 1.0)

    def fires(self, query: Query, rankings: Mapping[str, Ranking], snapshot: Snapshot, k: int) -> TriggerDecision:
        name, ranking = choose_leg("margin_below", self.leg, rankings)
        first, second = [*ranking.score[:2].tolist(), 0.0, 0.0][:2]
        lead = first - second
        why = f"margin_below {self.margin:g}, {name} leads by {lead:.4g}"
        return TriggerDecision(lead < self.margin, why, "margin_below", lead)

    def check(self, legs: Mapping[str, Range]) -> None:
        name, scores = choose_leg("margin_below", self.leg, legs)
        require_unit(f"margin_below (leg {name!r})", scores)
