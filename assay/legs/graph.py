"""Things in common: personalised PageRank from what the query names and what the other legs found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from assay.engine.checks import check_choice, check_number, check_whole
from assay.engine.facts import rows_of
from assay.engine.order import top
from assay.errors import StoreError
from assay.protocols import Related, Snapshot, Walk
from assay.types import Query, Range, Ranking

KEEP = ("all", "reached", "new")


@dataclass(frozen=True, slots=True)
class Graph:
    """score = (1 − damping) · mass that a walk brings to a chunk, in [0, 1), one part per thing or link it came over.

    The walk begins with `entity_share` of its mass at the things the query names, by weight, and the rest at the
    first `seeds` of what the legs in `after` found, by 1/rank; where one side is empty the other has all of it.
    It goes from chunks to the names, identifiers, word pairs and links in them and back (004; docs/graph.md).
    What becomes of the seeds themselves: `keep = "all"` ranks them by all their mass, which is PageRank to the letter
    and leaves them where they were; `"reached"` counts only what came over things and links, so a seed stands high
    when others lead to it; `"new"` leaves the seeds out. `least` is the mass per neighbour below which nothing is
    passed on. A query without things and seeds finds nothing here, which is no degradation. Scale raw: the mass of
    one chunk says little beside that of another query's.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"graph"})

    damping: float = 0.5
    seeds: int = 5
    entity_share: float = 0.5
    keep: Literal["all", "reached", "new"] = "all"
    least: float = 1e-5

    def __post_init__(self) -> None:
        check_number("graph.damping", self.damping, 0.0, 0.99)
        check_whole("graph.seeds", self.seeds, 0)
        check_number("graph.entity_share", self.entity_share, 0.0, 1.0)
        check_choice("graph.keep", self.keep, KEEP)
        check_number("graph.least", self.least, 0.0, 1.0)

    def gives(self) -> Range:
        return Range("raw", 0.0, 1.0)

    def find(self, query: Query, snapshot: Snapshot, k: int, seeds: Ranking | None = None) -> Ranking:
        if not isinstance(snapshot, Related):
            raise StoreError("this store says it has a graph, but cannot walk it", "use a store that can")
        rows = np.empty(0, np.int64) if seeds is None else rows_of(top(seeds, self.seeds), snapshot)
        plan = Walk(rows[rows >= 0], self.damping, self.entity_share, self.keep, self.least)
        found = snapshot.related(query, k, plan)
        return Ranking.of(snapshot.ids(found.rows), found.parts, "raw", rows=found.rows, notes=found.notes)
