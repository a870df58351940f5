"""Trigger on term coverage: how many of the query's terms occur in the best candidates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import fsum

from assay.engine.checks import check_number, check_whole
from assay.engine.facts import chunks_of
from assay.engine.order import top
from assay.protocols import Snapshot, TriggerDecision
from assay.triggers.leg_choice import choose_leg
from assay.types import Query, Range, Ranking


@dataclass(frozen=True, slots=True)
class TermCoverageBelow:
    """Fires when a leg's best candidates cover too little of the query's term weight.

        coverage = Σ idf(t), t in the query and in one of the `top` best / Σ idf(t), t in the query

    A term that no chunk has weighs most and counts against coverage. A query without terms (empty, or stop words
    only) has coverage 1.
    """

    share: float = 0.5
    top: int = 3
    leg: str = ""

    def __post_init__(self) -> None:
        check_number("term_coverage_below.share", self.share, 0.0, 1.0)
        check_whole("term_coverage_below.top", self.top, 1)

    def fires(self, query: Query, rankings: Mapping[str, Ranking], snapshot: Snapshot, k: int) -> TriggerDecision:
        name, ranking = choose_leg("term_coverage_below", self.leg, rankings)
        weights = snapshot.term_weights(query.text)
        terms: set[str] = set()
        for chunk in chunks_of(top(ranking, self.top), snapshot):
            if chunk is not None:
                terms.update(snapshot.terms(chunk.indexed_text))
        total = fsum(weights.values())
        covered = fsum(weight for term, weight in weights.items() if term in terms) / total if total else 1.0
        why = f"term_coverage_below {self.share:g}, the best {self.top} of {name} cover {covered:.3f}"
        return TriggerDecision(covered < self.share, why, "term_coverage_below", covered)

    def check(self, legs: Mapping[str, Range]) -> None:
        choose_leg("term_coverage_below", self.leg, legs)
