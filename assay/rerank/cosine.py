"""Cosine rerank: blends the cosine of query and chunk into the score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.engine.checks import check_number, require_unit
from assay.engine.facts import vectors_of
from assay.engine.order import arrange
from assay.protocols import Snapshot
from assay.types import Note, Part, Query, Range, Ranking


@dataclass(frozen=True, slots=True)
class Cosine:
    """Blends in the cosine of query and chunk; the lightweight rerank and fallback of the memory pipeline.

        score = clip((1 − weight) · score + weight · cos(query, chunk), 0, 1)

    A chunk without a vector keeps its score. Needs unit scores and the query's vector, gives unit scores; where
    clip applies, there is a part "clamp".
    """

    needs: ClassVar[frozenset[str]] = frozenset({"dense", "vector"})

    weight: float = 0.3

    def __post_init__(self) -> None:
        check_number("cosine.weight", self.weight, 0.0, 1.0)

    def apply(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking:
        if query.vector is None:
            return ranking.noted(Note("skipped", "cosine needs the query's vector", cure="load an embedding model"))
        if not len(ranking):
            return ranking
        vectors = vectors_of(ranking, snapshot).astype(np.float64)
        has_vector = vectors.any(axis=1)
        # einsum adds in a fixed order; a matrix product may split its sums by the number of threads.
        cosine = np.einsum("ij,j->i", vectors, np.asarray(query.vector, np.float64))
        blended = ranking.scored(
            Part("cosine.keep", "mul", np.where(has_vector, 1.0 - self.weight, 1.0)),
            Part("cosine", "add", np.where(has_vector, self.weight * cosine, 0.0)),
        )
        return arrange(blended.clamped())

    def gives(self, scores: Range) -> Range:
        require_unit("cosine", scores)
        keep = 1.0 - self.weight
        return Range("unit", max(0.0, keep * scores.lo - self.weight), min(1.0, keep * scores.hi + self.weight))
