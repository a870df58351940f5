"""The trigger that reads words: is what the question says in what was found?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import fsum

from assay.engine.checks import check_number, check_whole
from assay.engine.facts import chunks_of
from assay.engine.order import top
from assay.protocols import Fired, Snapshot
from assay.triggers.reads import chosen
from assay.types import Query, Range, Ranking


@dataclass(frozen=True, slots=True)
class TermCoverageBelow:
    """Fires when too little of the query's weight stands in a leg's best candidates.

        coverage = Σ idf(t), t in the query and in one of the `top` best / Σ idf(t), t in the query

    A word nobody has weighs the most, so it counts against coverage as it should. A query without terms (empty, or
    stop words alone) has nothing to cover: its coverage is 1.
    """

    share: float = 0.5
    top: int = 3
    leg: str = ""

    def __post_init__(self) -> None:
        check_number("term_coverage_below.share", self.share, 0.0, 1.0)
        check_whole("term_coverage_below.top", self.top, 1)

    def fires(self, query: Query, rankings: Mapping[str, Ranking], snapshot: Snapshot, k: int) -> Fired:
        name, found = chosen("term_coverage_below", self.leg, rankings)
        weights = snapshot.term_weights(query.text)
        held: set[str] = set()
        for chunk in chunks_of(top(found, self.top), snapshot):
            if chunk is not None:
                held.update(snapshot.terms(chunk.indexed_text))
        total = fsum(weights.values())
        covered = fsum(weight for term, weight in weights.items() if term in held) / total if total else 1.0
        why = f"term_coverage_below {self.share:g}, the best {self.top} of {name} cover {covered:.3f}"
        return Fired(covered < self.share, why, "term_coverage_below", covered)

    def check(self, legs: Mapping[str, Range]) -> None:
        chosen("term_coverage_below", self.leg, legs)
