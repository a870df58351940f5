"""A step of one's own: a frozen dataclass with two methods, held to the same laws as ours."""

from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import assay
from assay.config.load import load, with_digest
from assay.engine.facts import chunks_of
from assay.engine.order import arrange
from assay.engine.pipeline import StepPlan
from assay.protocols import Snapshot
from assay.testing.contracts import check_stage
from assay.types import Part, Query, Range, Ranking


@dataclass(frozen=True)
class Coverage:
    """score = score · (base + (1 − base) · weight of the query's words that the chunk has / weight of them all)."""

    base: float = 0.5
    needs = frozenset({"lexical"})  # what the pipeline must prepare; else it skips this step, on the record

    def apply(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking:
        weights = snapshot.term_weights(query.text)
        terms = [set(snapshot.terms(c.indexed_text)) if c else set() for c in chunks_of(ranking, snapshot)]
        shares = [sum(w for t, w in weights.items() if t in has) / (sum(weights.values()) or 1.0) for has in terms]
        return arrange(ranking.scored(Part("coverage", "mul", self.base + (1.0 - self.base) * np.array(shares))))

    def gives(self, given: Range) -> Range:
        return Range(given.scale, self.base * given.lo, given.hi)


check_stage(Coverage())  # a hundred made-up rankings: same ids, one order, every score the fold of its parts
own = with_digest(replace(load("default"), name="own", steps=(StepPlan("coverage", Coverage()),)))
with TemporaryDirectory() as folder, assay.open(f"{folder}/kb") as kb:
    kb.add(Path(__file__).resolve().parent / "handbook")
    for hit in kb.search("what changed in v1.28.0?", k=2, pipeline=own):
        print(f"{hit.rank}. {hit.title} › {hit.chunk.section}\n   {hit.why()}")
