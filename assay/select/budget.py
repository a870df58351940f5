"""Token budget: keeps candidates that fit into a prompt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from assay.engine.checks import check_choice, check_whole
from assay.engine.facts import numbers_of
from assay.protocols import Snapshot
from assay.select.drop import keep_only
from assay.types import Query, Range, Ranking


@dataclass(frozen=True, slots=True)
class Budget:
    """Takes candidates in order while their tokens fit into a budget.

    `tokens` is the budget, in tokens of the budget tokeniser (`Chunk.tokens`). A candidate that does not fit is
    left out and the next one is tried (`mode = "skip"`), or ends the list (`mode = "stop"`). A candidate of
    unknown size never fits. Scores stay as they are.
    """

    needs: ClassVar[frozenset[str]] = frozenset()

    tokens: int = 2000
    mode: Literal["skip", "stop"] = "skip"

    def __post_init__(self) -> None:
        check_whole("budget.tokens", self.tokens, 1)
        check_choice("budget.mode", self.mode, ("skip", "stop"))

    def select(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking:
        keep = np.zeros(len(ranking), np.bool_)
        used = 0.0
        for place, size in enumerate(numbers_of(ranking, snapshot, "tokens").tolist()):
            if used + size <= self.tokens:
                keep[place] = True
                used += size
            elif self.mode == "stop":
                break
        return keep_only(ranking, keep, f"does not fit: {used:.0f} of {self.tokens} tokens are taken")

    def gives(self, scores: Range) -> Range:
        return scores
