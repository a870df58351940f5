"""Best score: every candidate keeps the highest score that a leg gave it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.engine.checks import require_unit
from assay.engine.order import arrange
from assay.fuse.union import unite
from assay.protocols import Snapshot
from assay.types import Part, Query, Range, Ranking


@dataclass(frozen=True, slots=True)
class BestScore:
    """score = the highest score of a leg

    For legs whose scores are comparable as they are: a hybrid, and the leg `bridge`, whose scores are made from those
    of its seeds. Takes and gives unit scores. A leg has a part where its score is higher than that of
    the legs before it, by name.
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    symmetric: ClassVar[bool] = True

    def fuse(self, query: Query, rankings: Mapping[str, Ranking], snapshot: Snapshot) -> Ranking:
        if not rankings:
            return Ranking.empty("unit")
        union = unite(rankings)
        parts: list[Part] = []
        best = np.full(len(union), -1.0)
        for leg in sorted(rankings):
            own = np.where(union.found_by(leg), union.column(leg, rankings[leg].score), -1.0)
            parts.append(Part(leg, "set", np.where(own > best, own, np.nan)))
            best = np.maximum(best, own)
        return arrange(
            Ranking.of(
                union.ids, parts, "unit", rows=union.rows, priority=union.priority, source_rank=union.source_rank
            )
        )

    def gives(self, legs: Mapping[str, Range]) -> Range:
        for leg, scores in legs.items():
            require_unit(f"best_score (leg {leg!r})", scores)
        return Range("unit", 0.0, max(scores.hi for scores in legs.values()))
