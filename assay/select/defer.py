"""Near-duplicates go to the end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from assay.engine.checks import check_number
from assay.engine.facts import vectors_of
from assay.engine.order import arrange
from assay.protocols import Snapshot
from assay.select.near import cosines
from assay.types import Note, Query, Range, Ranking


@dataclass(frozen=True, slots=True)
class Defer:
    """Moves a candidate behind all others when it is too like one that stands before it; 002's diversity filter.

    In order: a candidate whose cosine with any candidate kept so far is above `cosine` is deferred, the
    others are kept. Nothing is dropped. Writes `tier`: the deferred ones stand below the lowest tier there was, in
    the order they had. Scores stay as they are. A chunk without a vector is near nothing.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"dense"})

    cosine: float = 0.85

    def __post_init__(self) -> None:
        check_number("defer.cosine", self.cosine, 0.0, 1.0)

    def select(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking:
        if len(ranking) < 2:
            return ranking
        vectors = vectors_of(ranking, snapshot).astype(np.float64)
        kept = np.empty_like(vectors)
        count = 0
        late = np.zeros(len(ranking), np.bool_)
        for place, vector in enumerate(vectors):
            if (cosines(kept[:count], vector) > self.cosine).any():
                late[place] = True
            else:
                kept[count] = vector
                count += 1
        if not late.any():
            return ranking
        below = ranking.tier.max() - ranking.tier.min() + 1
        moved = replace(ranking, tier=(ranking.tier + np.where(late, below, 0)).astype(np.int32))
        text = f"moved to the end: cosine above {self.cosine:g} with one that stands before it"
        return arrange(moved).noted(Note("info", text, tuple(ranking.ids[late].tolist())))

    def gives(self, given: Range) -> Range:
        return given
