"""Next-vector rerank: the cosine with the vector that the model predicts (vector cascade, stage 2)."""

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
"""Tolerance of a squared length: twice that of the length itself."""


@dataclass(frozen=True, slots=True)
class Lvm:
    """score = cos(ŷ, vector) with ŷ = l2(x + Δ̂), the next vector that the model predicts.

    The model belongs to the snapshot: it is trained on its vectors, and the snapshot's digest covers it. A candidate
    without a vector keeps its score. Without a model the ranking stays as it is and a note says so. Gives raw scores
    in [−1, 1].
    """

    needs: ClassVar[frozenset[str]] = frozenset({"dense", "vector"})

    def apply(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking:
        expected = snapshot.expected(query) if isinstance(snapshot, PredictsNext) else None
        if expected is None:
            return ranking.noted(Note("skipped", "no next-vector model is loaded", cure="assay lvm train"))
        if not len(ranking):
            return ranking
        vectors = vectors_of(ranking, snapshot)
        squares = np.vecdot(vectors, vectors)
        unit = np.abs(squares - 1.0) <= _TOLERANCE
        if not (unit | (squares == 0.0)).all():
            raise LawBroken("lvm: a candidate's vector is not of length 1, so its product is no cosine")
        # Each row is summed separately: the same bits for any number of threads and any other rows.
        cosine = np.where(unit, np.clip(np.vecdot(vectors, expected), -1.0, 1.0), np.nan).astype(np.float64)
        return arrange(ranking.scored(Part("lvm", "set", cosine), scale="raw"))

    def gives(self, scores: Range) -> Range:
        return Range("raw", min(-1.0, scores.lo), max(1.0, scores.hi))
