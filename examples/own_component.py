"""A step of your own: a frozen dataclass with two methods, checked by the contract suite."""

from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import assay
from assay.plugins import Part, Query, Range, Ranking, Snapshot, StepPlan, arrange, chunks_of, with_digest
from assay.testing.contracts import check_stage


@dataclass(frozen=True)
class Coverage:
    """score = score · (base + (1 − base) · weight of the query's words that the chunk has / weight of them all)."""

    base: float = 0.5
    needs = frozenset({"lexical"})  # what the snapshot must offer; otherwise the step is skipped and the answer says so

    def apply(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking:
        weights = snapshot.term_weights(query.text)
        terms = [set(snapshot.terms(c.indexed_text)) if c else set() for c in chunks_of(ranking, snapshot)]
        shares = [sum(w for t, w in weights.items() if t in has) / (sum(weights.values()) or 1.0) for has in terms]
        return arrange(ranking.scored(Part("coverage", "mul", self.base + (1.0 - self.base) * np.array(shares))))

    def gives(self, given: Range) -> Range:
        return Range(given.scale, self.base * given.lo, given.hi)


check_stage(Coverage())  # random rankings: same ids, one order, every score the fold of its parts
own = with_digest(replace(assay.load_pipeline("default"), name="own", steps=(StepPlan("coverage", Coverage()),)))
with TemporaryDirectory() as folder, assay.open(f"{folder}/kb") as kb:
    kb.add(Path(__file__).resolve().parent / "handbook")
    for hit in kb.search("what changed in v1.28.0?", k=2, pipeline=own):
        print(f"{hit.rank}. {hit.title} › {hit.chunk.section}\n   {hit.why()}")
