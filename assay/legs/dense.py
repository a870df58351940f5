"""Meaning: nearest vectors by cosine."""

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
    norm = "clamp": max(0, cos), scale unit (002).
    """

    needs: ClassVar[frozenset[str]] = frozenset({"vector", "dense"})
    ahead: ClassVar[int] = 2

    norm: Literal["none", "clamp"] = "none"

    def gives(self) -> Range:
        return Range("unit", 0.0, 1.0) if self.norm == "clamp" else Range("raw", -1.0, 1.0)

    def find(self, query: Query, snapshot: Snapshot, k: int, seeds: Ranking | None = None) -> Ranking:
        found = snapshot.nearest(query, k)
        parts = self._parts(found.parts[0])
        ids = snapshot.ids(found.rows)
        return Ranking.of(ids, parts, self.gives().scale, rows=found.rows, notes=found.notes)

    def rate(self, query: Query, snapshot: Snapshot, rows: Rows) -> list[Part]:
        if query.vector is None:
            raise QueryError("dense needs query.vector", "embed the query first, or pass a vector")
        return self._parts(Part("cosine", "add", exact_scores(snapshot.vectors(rows), query.vector)))

    def _parts(self, cosine: Part) -> list[Part]:
        if self.norm == "none":
            return [cosine]
        held = np.minimum(np.maximum(cosine.column, 0.0), 1.0)  # a float32 cosine may pass 1 by one rounding
        return [cosine, Part("clamp", "set", np.where(held == cosine.column, np.nan, held))]
