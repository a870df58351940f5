"""Minimum score: drops candidates below a threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from assay.engine.checks import check_number, require_unit
from assay.protocols import Snapshot
from assay.select.drop import keep_only
from assay.types import Query, Range, Ranking


@dataclass(frozen=True, slots=True)
class MinScore:
    """Keeps score ≥ threshold; the hard minimum of the memory pipeline.

    Needs unit scores: a threshold on raw scores is refused when the pipeline is built, and preflight compares
    `threshold` with the scores that can occur, also when legs are skipped.
    """

    needs: ClassVar[frozenset[str]] = frozenset()

    threshold: float = 0.35

    def __post_init__(self) -> None:
        check_number("min_score.threshold", self.threshold, 0.0, 1.0)

    def select(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking:
        return keep_only(ranking, ranking.score >= self.threshold, f"score below {self.threshold:g}")

    def gives(self, scores: Range) -> Range:
        require_unit("min_score", scores)
        return Range("unit", min(max(scores.lo, self.threshold), scores.hi), scores.hi)
