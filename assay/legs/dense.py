"""Dense leg: nearest vectors by cosine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from assay.errors import QueryError
from assay.index.vectors import exact_scores
from assay.protocols import Snapshot
from assay.types import Part, Query, Range, Ranking, Rows


@dataclass(frozen=True, slots=True)
class Dense:
    """score = cos(query, chunk).

    norm = "none": the cosine itself, scale raw, in [−1, 1].
    norm = "clamp": max(0, cos), scale unit (memory pipeline).
    """

    needs: ClassVar[frozenset[str]] = frozenset({"vector", "dense"})
    parallel_weight: ClassVar[int] = 2

    norm: Literal["none", "clamp"] = "none"

    def gives(self) -> Range:
        return Range("unit", 0.0, 1.0) if self.norm == "clamp" else Range("raw", -1.0, 1.0)

    def find(self, query: Query, snapshot: Snapshot, k: int, seeds: Ranking | None = None) -> Ranking:
        matches = snapshot.nearest(query, k)
        parts = self._parts(matches.parts[0])
        ids = snapshot.ids(matches.rows)
        return Ranking.of(ids, parts, self.gives().scale, rows=matches.rows, notes=matches.notes)

    def rate(self, query: Query, snapshot: Snapshot, rows: Rows) -> list[Part]:
        if query.vector is None:
            raise QueryError("dense needs query.vector", "embed the query first, or pass a vector")
        return self._parts(Part("cosine", "add", exact_scores(snapshot.vectors(rows), query.vector)))

    def _parts(self, cosine: Part) -> list[Part]:
        if self.norm == "none":
            return [cosine]
        clamped = np.minimum(np.maximum(cosine.column, 0.0), 1.0)  # rounding can lift a float32 cosine above 1
        return [cosine, Part("clamp", "set", np.where(clamped == cosine.column, np.nan, clamped))]
