"""Lexical leg: BM25 over title, section and text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from assay.errors import ConfigError
from assay.protocols import DEFAULT_WEIGHTING, Matches, Snapshot, TermWeighting
from assay.types import Part, Query, Range, Ranking, Rows

MOST_K3 = 1_000.0


@dataclass(frozen=True, slots=True)
class Bm25:
    """score = Σ_t qtf·(k3+1) / (qtf + k3) · idf(t) · tf·(k1+1) / (tf + k1·(1 − b + b·dl/avgdl)), one part per term.

    tf counts a term in the chunk, qtf in the query; k1 and b are settings of the store.
    k3: how much a repeated query word counts: 0 not at all, 1000 nearly every time anew.
    split_identifiers: also look for the bare digits of identifiers (the 2024 of CVE-2024-1234).

    norm = "none": the sum itself, scale raw, in [0, ∞).
    norm = "ideal": the sum over the query's ideal score (every term at its best, unknown terms charged the
    largest idf), scale unit: 1 is a perfect match, an unrelated hit is near 0.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"lexical"})
    parallel_weight: ClassVar[int] = 1
    digest_omits: ClassVar[Mapping[str, object]] = {"k3": 0.0, "split_identifiers": True}

    norm: Literal["none", "ideal"] = "none"
    k3: float = DEFAULT_WEIGHTING.k3
    split_identifiers: bool = DEFAULT_WEIGHTING.split_identifiers

    def __post_init__(self) -> None:
        if not 0.0 <= self.k3 <= MOST_K3:
            raise ConfigError(
                f"bm25: k3 = {self.k3!r}", f"give a number from 0 (a repeated query word counts once) to {MOST_K3:g}"
            )

    def gives(self) -> Range:
        return Range("unit", 0.0, 1.0) if self.norm == "ideal" else Range("raw", 0.0, float("inf"))

    def find(self, query: Query, snapshot: Snapshot, k: int, seeds: Ranking | None = None) -> Ranking:
        matches = snapshot.lexical(query, k, self._weighting)
        ids = snapshot.ids(matches.rows)
        return Ranking.of(ids, self._parts(matches), self.gives().scale, rows=matches.rows, notes=matches.notes)

    def rate(self, query: Query, snapshot: Snapshot, rows: Rows) -> list[Part]:
        return self._parts(snapshot.lexical_at(query, rows, self._weighting))

    @property
    def _weighting(self) -> TermWeighting:
        return TermWeighting(self.k3, self.split_identifiers)

    def _parts(self, matches: Matches) -> list[Part]:
        parts = list(matches.parts)
        if self.norm == "ideal" and matches.ideal > 0.0:
            parts.append(Part("ideal", "mul", np.full(len(matches.rows), 1.0 / matches.ideal)))
        return parts
