"""Title match: a boost for chunks whose title or section holds the query's terms."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.engine.checks import check_number, require_unit
from assay.engine.facts import chunks_of
from assay.engine.order import arrange
from assay.protocols import Snapshot
from assay.types import Part, Query, Range, Ranking


@dataclass(frozen=True, slots=True)
class TitleMatch:
    """Adds the share of the query's term weight that occurs in title or section.

        score = min(1, score + weight · Σ idf(t in headings) / Σ idf(t))      over the query's different terms t

    Terms and their idf come from the snapshot, so headings, chunks and query pass the same analyser. A query without
    terms, or with terms of weight 0, changes nothing. Needs and gives unit scores; where min applies, there is a part
    "clamp".
    """

    needs: ClassVar[frozenset[str]] = frozenset({"lexical"})

    weight: float = 0.05

    def __post_init__(self) -> None:
        check_number("title_match.weight", self.weight, 0.0, 1.0)

    def apply(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking:
        weights = snapshot.term_weights(query.text)
        total = math.fsum(weights.values())
        if not self.weight or total <= 0.0 or not len(ranking):
            return ranking
        headings = ["" if c is None else f"{c.title}\n{c.section}" for c in chunks_of(ranking, snapshot)]
        shares: dict[str, float] = {}
        for heading in headings:
            if heading not in shares:
                shares[heading] = math.fsum(weights.get(t, 0.0) for t in set(snapshot.terms(heading))) / total
        boost = self.weight * np.array([shares[heading] for heading in headings])
        return arrange(ranking.scored(Part("title_match", "add", boost)).clamped())

    def gives(self, scores: Range) -> Range:
        require_unit("title_match", scores)
        return Range("unit", scores.lo, min(1.0, scores.hi + self.weight))
