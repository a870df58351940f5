"""Lexical leg: BM25 over title, section and text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from assay.protocols import Matches, Snapshot
from assay.types import Part, Query, Range, Ranking, Rows


@dataclass(frozen=True, slots=True)
class Bm25:
    """score = Σ_t idf(t) · tf·(k1+1) / (tf + k1·(1 − b + b·dl/avgdl)), one part per term.

    norm = "none": the sum itself, scale raw, in [0, ∞).
    norm = "ideal": the sum over the query's ideal score (every term at its best, unknown terms charged the
    largest idf), scale unit: 1 is a perfect match, an unrelated hit is near 0.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"lexical"})
    parallel_weight: ClassVar[int] = 1

    norm: Literal["none", "ideal"] = "none"

    def gives(self) -> Range:
        return Range("unit", 0.0, 1.0) if self.norm == "ideal" else Range("raw", 0.0, float("inf"))

    def find(self, query: Query, snapshot: Snapshot, k: int, seeds: Ranking | None = None) -> Ranking:
        matches = snapshot.lexical(query, k)
        ids = snapshot.ids(matches.rows)
        return Ranking.of(ids, self._parts(matches), self.gives().scale, rows=matches.rows, notes=matches.notes)

    def rate(self, query: Query, snapshot: Snapshot, rows: Rows) -> list[Part]:
        return self._parts(snapshot.lexical_at(query, rows))

    def _parts(self, matches: Matches) -> list[Part]:
        parts = list(matches.parts)
        if self.norm == "ideal" and matches.ideal > 0.0:
            parts.append(Part("ideal", "mul", np.full(len(matches.rows), 1.0 / matches.ideal)))
        return parts
