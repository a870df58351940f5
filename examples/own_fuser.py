"""A fuser of your own in ten lines: the best rank of any leg, checked by the contract suite."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import assay
from assay.plugins import Part, Query, Range, Ranking, Snapshot, arrange, unite, with_digest
from assay.testing.contracts import check_fuser


@dataclass(frozen=True)
class BestRank:
    """score = 1 / the best rank in any leg; first candidates tie, and the priority of the legs decides."""

    needs = frozenset()  # capabilities of the snapshot
    symmetric = True  # the order of the legs changes nothing

    def fuse(self, query: Query, rankings: Mapping[str, Ranking], snapshot: Snapshot) -> Ranking:
        union = unite(rankings)  # every chunk once, with the priority and rank that break ties
        score = np.max([union.column(leg, 1.0 / np.arange(1, len(r) + 1)) for leg, r in rankings.items()], axis=0)
        ties = {"priority": union.priority, "source_rank": union.source_rank}
        return arrange(Ranking.of(union.ids, [Part("best", "add", score)], "unit", rows=union.rows, **ties))

    def gives(self, legs: Mapping[str, Range]) -> Range:
        return Range("unit", 0.0, 1.0)


check_fuser(BestRank())  # random rankings: no id added, one order, ties broken, empty legs ignored
own = with_digest(replace(assay.load_pipeline("rrf"), name="best_rank", fuser=BestRank()))
with TemporaryDirectory() as folder, assay.open(f"{folder}/kb") as kb:
    kb.add(Path(__file__).resolve().parent / "handbook")
    for hit in kb.search("how am I paid for being on call?", k=2, pipeline=own):
        print(f"{hit.rank}. {hit.title} › {hit.chunk.section}\n   {hit.why()}")
