"""Triggers that read scores. A threshold means something on unit scores only, so raw ones are refused (law 8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from assay.engine.checks import check_number, require_unit
from assay.protocols import Fired, Snapshot
from assay.triggers.reads import chosen
from assay.types import Query, Range, Ranking


@dataclass(frozen=True, slots=True)
class TopScoreBelow:
    """Fires when a leg's best score is below `score`; a leg that found nothing scores 0."""

    score: float = 0.5
    leg: str = ""

    def __post_init__(self) -> None:
        check_number("top_score_below.score", self.score, 0.0, 1.0)

    def fires(self, query: Query, rankings: Mapping[str, Ranking], snapshot: Snapshot, k: int) -> Fired:
        name, found = chosen("top_score_below", self.leg, rankings)
        best = float(found.score[0]) if len(found) else 0.0
        why = f"top_score_below {self.score:g}, {name} scored {best:.4g}"
        return Fired(best < self.score, why, "top_score_below", best)

    def check(self, legs: Mapping[str, Range]) -> None:
        name, scores = chosen("top_score_below", self.leg, legs)
        require_unit(f"top_score_below (leg {name!r})", scores)


@dataclass(frozen=True, slots=True)
class MarginBelow:
    """Fires when a leg's best candidate leads the second by less than `margin`: it does not know which.

    A single candidate leads by its whole score; a leg that found nothing leads by 0.
    """

    margin: float = 0.05
    leg: str = ""

    def __post_init__(self) -> None:
        check_number("margin_below.margin", self.margin, 0.0, 1.0)

    def fires(self, query: Query, rankings: Mapping[str, Ranking], snapshot: Snapshot, k: int) -> Fired:
        name, found = chosen("margin_below", self.leg, rankings)
        first, second = [*found.score[:2].tolist(), 0.0, 0.0][:2]
        lead = first - second
        why = f"margin_below {self.margin:g}, {name} leads by {lead:.4g}"
        return Fired(lead < self.margin, why, "margin_below", lead)

    def check(self, legs: Mapping[str, Range]) -> None:
        name, scores = chosen("margin_below", self.leg, legs)
        require_unit(f"margin_below (leg {name!r})", scores)
