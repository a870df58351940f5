"""The terms of a query with their boosts, by which every backend multiplies their idf.

boost(t) = qtf·(k3+1) / (qtf + k3)          qtf: how often the query repeats the term; 1 gives exactly 1
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from assay.protocols import TermWeighting
from assay.text.analyser import Analyser
from assay.types import Floats, Note

MOST_TERMS = 256
"""Of a longer query only the heaviest terms are used."""


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """Distinct terms, sorted, with their boosts."""

    terms: list[str]
    boosts: Floats

    @staticmethod
    def analyse(analyser: Analyser, text: str, weighting: TermWeighting) -> QueryTerms:
        counts = analyser.query_term_counts(text, weighting.split_identifiers)
        repeated = np.array(list(counts.values()), np.float64)
        return QueryTerms(list(counts), repeated * (weighting.k3 + 1.0) / (repeated + weighting.k3))

    def select_heaviest(self, idf: Callable[[], Floats]) -> tuple[list[int], tuple[Note, ...]]:
        """Places of the terms to use: all, or of a very long query those with the largest idf·boost, with a note."""
        if len(self.terms) <= MOST_TERMS:
            return list(range(len(self.terms))), ()
        weights = idf() * self.boosts
        chosen = np.sort(np.lexsort((np.arange(len(self.terms)), -weights))[:MOST_TERMS])
        note = Note("info", f"the query has {len(self.terms)} terms; the {MOST_TERMS} that weigh most were used")
        return chosen.tolist(), (note,)

    def take(self, places: list[int]) -> QueryTerms:
        return QueryTerms([self.terms[place] for place in places], self.boosts[places])
