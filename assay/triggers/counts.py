"""Triggers that count what was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from assay.engine.checks import check_whole
from assay.protocols import Fired, Snapshot
from assay.triggers.reads import chosen
from assay.types import Query, Range, Ranking


def _found(rankings: Mapping[str, Ranking]) -> int:
    return len({name for ranking in rankings.values() for name in ranking.ids.tolist()})


@dataclass(frozen=True, slots=True)
class Always:
    """Fires for every query: the leg is asked beside the others, and its cap still holds."""

    def fires(self, query: Query, rankings: Mapping[str, Ranking], snapshot: Snapshot, k: int) -> Fired:
        return Fired(True, "always", "always", float(_found(rankings)))

    def check(self, legs: Mapping[str, Range]) -> None:
        """Reads no score."""


@dataclass(frozen=True, slots=True)
class FewerThan:
    """Fires when the legs so far found fewer than `count` different candidates (000: min_must_count = 3)."""

    count: int = 3

    def __post_init__(self) -> None:
        check_whole("fewer_than.count", self.count, 1)

    def fires(self, query: Query, rankings: Mapping[str, Ranking], snapshot: Snapshot, k: int) -> Fired:
        found = _found(rankings)
        return Fired(found < self.count, f"fewer_than {self.count}, found {found}", "fewer_than", float(found))

    def check(self, legs: Mapping[str, Range]) -> None:
        chosen("fewer_than", "", legs)


@dataclass(frozen=True, slots=True)
class FillToK:
    """Fires when the legs so far cannot fill the pipeline's k."""

    def fires(self, query: Query, rankings: Mapping[str, Ranking], snapshot: Snapshot, k: int) -> Fired:
        found = _found(rankings)
        return Fired(found < k, f"fill_to_k {k}, found {found}", "fill_to_k", float(found))

    def check(self, legs: Mapping[str, Range]) -> None:
        chosen("fill_to_k", "", legs)
