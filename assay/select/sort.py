"""Sorting by recency or importance instead of relevance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from assay.engine.checks import check_choice, check_whole
from assay.engine.facts import numbers_of
from assay.engine.order import arrange
from assay.protocols import Snapshot
from assay.types import Query, Range, Ranking

ORDERS = ("relevance", "recency", "importance")


@dataclass(frozen=True, slots=True)
class Sort:
    """Sorts the first `pool` candidates by a fact, as weighted fusion sorts by recency or importance.

    recency: newest first, undated last. importance: largest first, unknown counts as 1. relevance: as they stand.
    Ties keep their order. Candidates behind the pool follow in their own order: sorting hundreds of weak candidates by
    date would show the newest, not the newest relevant ones. Writes `tier`, scores stay as they are.
    """

    needs: ClassVar[frozenset[str]] = frozenset()

    by: Literal["relevance", "recency", "importance"] = "relevance"
    pool: int = 50

    def __post_init__(self) -> None:
        check_choice("sort.by", self.by, ORDERS)
        check_whole("sort.pool", self.pool, 1)

    def select(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking:
        if self.by == "relevance" or len(ranking) < 2:
            return ranking
        pool = ranking.take(slice(0, self.pool))
        name, unknown = ("created", -np.inf) if self.by == "recency" else ("importance", 1.0)
        facts = numbers_of(pool, snapshot, name, unknown)
        tier = ranking.tier - ranking.tier.min() + len(pool)
        tier[np.argsort(-facts, kind="stable")] = np.arange(len(pool))
        return arrange(replace(ranking, tier=tier.astype(np.int32)))

    def gives(self, scores: Range) -> Range:
        return scores
