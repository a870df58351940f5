"""A stage of one's own: a frozen dataclass with two methods, held to the same laws as ours."""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

import numpy as np

import assay
from assay.checks import require_unit
from assay.config import load, with_digest
from assay.facts import chunks_of
from assay.order import arrange
from assay.pipeline import StepPlan
from assay.protocols import Snapshot
from assay.testing.contracts import check_stage
from assay.types import Part, Query, Range, Ranking


@dataclass(frozen=True)
class Quantity:
    """score = min(1, score + weight) for chunks that hold a number, when the question asks how many or how much."""

    needs: ClassVar[frozenset[str]] = frozenset()
    weight: float = 0.1

    def apply(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking:
        if not len(ranking) or not re.search(r"\bhow (many|much|long|often)\b", query.text.lower()):
            return ranking
        holds = [bool(chunk and re.search(r"\d", chunk.text)) for chunk in chunks_of(ranking, snapshot)]
        return arrange(ranking.scored(Part("quantity", "add", self.weight * np.array(holds))).clamped())

    def gives(self, given: Range) -> Range:
        require_unit("quantity", given)  # 0.1 means nothing on a scale nobody knows
        return Range("unit", given.lo, min(1.0, given.hi + self.weight))


check_stage(Quantity())  # over generated rankings: same ids, one order, scores that are the sum of their parts
print("Quantity keeps the laws")
default = load("default")
own = with_digest(replace(default, name="with quantity", steps=(*default.steps, StepPlan("quantity", Quantity()))))
with TemporaryDirectory() as folder, assay.open(f"{folder}/kb") as kb:
    kb.add(Path(__file__).resolve().parent / "handbook")
    for pipeline in (default, own):
        hit = kb.search("how much money for a meal?", k=1, pipeline=pipeline)[0]
        print(f"{pipeline.name}: {hit.title} › {hit.chunk.section}\n  {hit.why()}")
