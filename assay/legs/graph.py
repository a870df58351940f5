"""Graph leg: personalised PageRank from the entities the query names and the chunks other legs found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from assay.engine.checks import check_choice, check_number, check_whole
from assay.engine.facts import rows_of
from assay.engine.order import top
from assay.errors import StoreError
from assay.protocols import GraphSnapshot, Snapshot, WalkSettings
from assay.types import Query, Range, Ranking

KEEP = ("all", "reached", "new")


@dataclass(frozen=True, slots=True)
class Graph:
    """score = (1 − damping) · mass of the walk at a chunk, in [0, 1), one part per entity or link it arrived over.

    The walk starts with `entity_share` of its mass at the entities the query names, by weight, and the rest at the
    first `seeds` candidates of the legs in `after`, by 1/rank; if one side is empty, the other gets all mass.
    It moves from chunks to their names, identifiers, word pairs and links, and back (weighted fusion;
    docs/graph.md). `keep` decides about the seeds: "all" ranks them by their whole mass, which is plain PageRank and
    tends to leave them in front; "reached" counts only mass that arrived over entities and links, so a seed ranks high
    when others lead to it; "new" drops the seeds. Mass per neighbour below `least` is not passed on. A query without
    entities and seeds finds nothing; that is not a degradation. Scale raw: masses of two queries are not comparable.
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
        if not isinstance(snapshot, GraphSnapshot):
            raise StoreError("this store says it has a graph, but cannot walk it", "use a store that can")
        rows = np.empty(0, np.int64) if seeds is None else rows_of(top(seeds, self.seeds), snapshot)
        walk = WalkSettings(rows[rows >= 0], self.damping, self.entity_share, self.keep, self.least)
        matches = snapshot.related(query, k, walk)
        return Ranking.of(snapshot.ids(matches.rows), matches.parts, "raw", rows=matches.rows, notes=matches.notes)
