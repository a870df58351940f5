"""A step of one's own: a frozen dataclass with two methods, held to the same laws as ours."""

from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

import numpy as np

import assay
from assay.config import load, with_digest
from assay.facts import chunks_of
from assay.order import arrange
from assay.pipeline import StepPlan
from assay.protocols import Snapshot
from assay.testing.contracts import check_stage
from assay.types import Part, Query, Range, Ranking


@dataclass(frozen=True)
class Coverage:
    """score = score · (base + (1 − base) · weight of the query's words that the chunk has / weight of them all)."""

    needs: ClassVar[frozenset[str]] = frozenset({"lexical"})
    base: float = 0.5

    def apply(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking:
        weights = snapshot.term_weights(query.text)
        texts = [chunk.indexed_text if chunk else "" for chunk in chunks_of(ranking, snapshot)]
        has = [sum(weights.get(term, 0.0) for term in set(snapshot.terms(text))) for text in texts]
        share = np.array(has) / (sum(weights.values()) or 1.0)
        return arrange(ranking.scored(Part("coverage", "mul", self.base + (1.0 - self.base) * share)))

    def gives(self, given: Range) -> Range:
        return Range(given.scale, self.base * given.lo, given.hi)


check_stage(Coverage())  # a hundred made-up rankings: same ids, one order, every score the fold of its parts
own = with_digest(replace(load("default"), name="own", steps=(StepPlan("coverage", Coverage()),)))
with TemporaryDirectory() as folder, assay.open(f"{folder}/kb") as kb:
    kb.add(Path(__file__).resolve().parent / "handbook")
    for hit in kb.search("what changed in v1.28.0?", k=3, pipeline=own):
        print(f"{hit.title} › {hit.chunk.section}\n  {hit.why()}")
