"""Legs whose searches are made once: systems that share a leg share its rankings."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import cast

from assay.engine.pipeline import LegPlan, Pipeline
from assay.protocols import Leg, Snapshot
from assay.types import Query, Range, Ranking

MOST_QUERIES = 64
"""Queries whose rankings are held. Systems are asked query by query, so few are enough."""


@dataclass
class LegCache:
    """Rankings by query and leg, of the last queries only."""

    _rankings: dict[str, dict[Hashable, Ranking]] = field(default_factory=dict)

    def find(self, leg: Leg, query: Query, snapshot: Snapshot, k: int) -> Ranking:
        key = (query.id or "") + "\0" + query.text
        found = self._rankings.setdefault(key, {})
        ranking = found.get((leg, k))
        if ranking is None:
            ranking = found[leg, k] = leg.find(query, snapshot, k)
        while len(self._rankings) > MOST_QUERIES:
            del self._rankings[next(iter(self._rankings))]
        return ranking

    def attach(self, pipeline: Pipeline) -> Pipeline:
        """The same pipeline with its legs behind this cache. Legs that read other legs are not cached."""
        legs = tuple(
            plan if plan.after or plan.when is not None or not _is_hashable(plan.leg) else self._cached(plan)
            for plan in pipeline.legs
        )
        return replace(pipeline, legs=legs)

    def _cached(self, plan: LegPlan) -> LegPlan:
        return replace(plan, leg=cast(Leg, CachedLeg(plan.leg, self)))


@dataclass(frozen=True, eq=False)
class CachedLeg:
    """A leg that asks the cache first."""

    leg: Leg
    cache: LegCache

    @property
    def needs(self) -> frozenset[str]:
        return self.leg.needs

    @property
    def wants(self) -> frozenset[str]:
        wanted: frozenset[str] = getattr(self.leg, "wants", self.leg.needs)
        return wanted

    def gives(self) -> Range:
        return self.leg.gives()

    def find(self, query: Query, snapshot: Snapshot, k: int, seeds: Ranking | None = None) -> Ranking:
        return self.cache.find(self.leg, query, snapshot, k)


def _is_hashable(leg: Leg) -> bool:
    try:
        hash(leg)
    except TypeError:
        return False
    return True
