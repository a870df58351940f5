"""Is it where the next vector should lie? (001, stage 2)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.engine.facts import vectors_of
from assay.engine.order import arrange
from assay.errors import LawBroken
from assay.protocols import PredictsNext, Snapshot
from assay.types import Note, Part, Query, Range, Ranking

_TOLERANCE = 2e-3
"""Of the square of a length: twice that of the length itself."""


@dataclass(frozen=True, slots=True)
class Lvm:
    """score = cos(ŷ, vector) with ŷ = l2(x + Δ̂), the place where the next-vector model expects what follows.

    The model belongs to the snapshot, as its vectors do: it is trained on them, and the snapshot's digest covers it.
    One product scores all candidates, each sum by itself. A candidate without a vector keeps its
    score. Without a model the ranking stays as it is, on the record. Gives raw scores in [−1, 1].
    """

    needs: ClassVar[frozenset[str]] = frozenset({"dense", "vector"})

    def apply(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking:
        expected = snapshot.expected(query) if isinstance(snapshot, PredictsNext) else None
        if expected is None:
            return ranking.noted(Note("skipped", "no next-vector model is loaded; cure: assay lvm train"))
        if not len(ranking):
            return ranking
        vectors = vectors_of(ranking, snapshot)
        squares = np.vecdot(vectors, vectors)
        unit = np.abs(squares - 1.0) <= _TOLERANCE
        if not (unit | (squares == 0.0)).all():
            raise LawBroken("lvm: a candidate's vector is not of length 1, so its product is no cosine")
        # Each row's product is summed by itself: the same bits for any number of threads and any rows beside it.
        cosine = np.where(unit, np.clip(np.vecdot(vectors, expected), -1.0, 1.0), np.nan).astype(np.float64)
        return arrange(ranking.scored(Part("lvm", "set", cosine), scale="raw"))

    def gives(self, given: Range) -> Range:
        return Range("raw", min(-1.0, given.lo), max(1.0, given.hi))
