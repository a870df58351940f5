"""Triggers that count candidates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from assay.engine.checks import check_whole
from assay.protocols import Snapshot, TriggerDecision
from assay.triggers.leg_choice import choose_leg
from assay.types import Query, Range, Ranking


def _count_candidates(rankings: Mapping[str, Ranking]) -> int:
    return len({name for ranking in rankings.values() for name in ranking.ids.tolist()})


@dataclass(frozen=True, slots=True)
class Always:
    """Fires for every query. The leg's cap still applies."""

    def fires(self, query: Query, rankings: Mapping[str, Ranking], snapshot: Snapshot, k: int) -> TriggerDecision:
        return TriggerDecision(True, "always", "always", float(_count_candidates(rankings)))

    def check(self, legs: Mapping[str, Range]) -> None:
        """Reads no score."""


@dataclass(frozen=True, slots=True)
class FewerThan:
    """Fires when the legs so far found fewer than `count` different candidates (router policy: min_must_count = 3)."""

    count: int = 3

    def __post_init__(self) -> None:
        check_whole("fewer_than.count", self.count, 1)

    def fires(self, query: Query, rankings: Mapping[str, Ranking], snapshot: Snapshot, k: int) -> TriggerDecision:
        count = _count_candidates(rankings)
        return TriggerDecision(
            count < self.count, f"fewer_than {self.count}, found {count}", "fewer_than", float(count)
        )

    def check(self, legs: Mapping[str, Range]) -> None:
        choose_leg("fewer_than", "", legs)


@dataclass(frozen=True, slots=True)
class FillToK:
    """Fires when the legs so far cannot fill the pipeline's k."""

    def fires(self, query: Query, rankings: Mapping[str, Ranking], snapshot: Snapshot, k: int) -> TriggerDecision:
        count = _count_candidates(rankings)
        return TriggerDecision(count < k, f"fill_to_k {k}, found {count}", "fill_to_k", float(count))

    def check(self, legs: Mapping[str, Range]) -> None:
        choose_leg("fill_to_k", "", legs)
