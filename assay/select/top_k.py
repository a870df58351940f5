"""Top k: keeps the first k candidates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.engine.checks import check_whole
from assay.protocols import Snapshot
from assay.select.drop import keep_only
from assay.types import Query, Range, Ranking


@dataclass(frozen=True, slots=True)
class TopK:
    """Keeps the first k candidates. Scores stay as they are."""

    needs: ClassVar[frozenset[str]] = frozenset()

    k: int = 10

    def __post_init__(self) -> None:
        check_whole("top_k.k", self.k, 1)

    def select(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking:
        return keep_only(ranking, np.arange(len(ranking)) < self.k, f"not among the first {self.k}")

    def gives(self, scores: Range) -> Range:
        return scores
