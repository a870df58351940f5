"""Bridge leg: follows entities from the chunks that other legs found to other chunks that hold them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.engine.checks import check_number
from assay.engine.facts import rows_of
from assay.engine.order import arrange, top
from assay.errors import StoreError
from assay.legs.hierarchy.bridges import HopSettings, check_hops, follow_bridges
from assay.legs.hierarchy.query_entities import QueryEntities
from assay.protocols import EntitySnapshot, Snapshot
from assay.types import Note, Part, Query, Range, Ranking


@dataclass(frozen=True, slots=True)
class Bridge:
    """score = seed's score · (keep + (1 − keep) · s),  s in [0, 1]: how well a chunk fits the query plus the entity

    The bridge hops of the leg beam, for any seeds: the best `hop_seeds` candidates of the legs in `after`. For each
    entity of a seed that the query does not name, the best `hop_each` chunks that hold it are found; `hops` of them in
    a row. Without seeds it finds nothing; that is not a degradation. Gives unit scores if the seeds have them, else
    seeds count as 1.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"graph"})
    wants: ClassVar[frozenset[str]] = frozenset({"graph", "vector"})

    hops: int = 1
    hop_seeds: int = 10
    hop_each: int = 2
    hop_keep: float = 0.5

    def __post_init__(self) -> None:
        check_hops("bridge", self.hops, self.hop_seeds, self.hop_each)
        check_number("bridge.hop_keep", self.hop_keep, 0.0, 1.0)

    def gives(self) -> Range:
        return Range("unit", 0.0, 1.0)

    def find(self, query: Query, snapshot: Snapshot, k: int, seeds: Ranking | None = None) -> Ranking:
        if seeds is None or not len(seeds):
            return Ranking.empty("unit")
        if not isinstance(snapshot, EntitySnapshot):
            raise StoreError("this store cannot follow cross-links", "use a store in a folder")
        best = top(seeds, self.hop_seeds)
        rows = rows_of(best, snapshot)
        scores = np.clip(best.score, 0.0, 1.0) if best.scale == "unit" else np.ones(len(best))
        frontier = [(row, score) for row, score in zip(rows.tolist(), scores.tolist(), strict=True) if row >= 0]
        settings = HopSettings(self.hops, self.hop_seeds, self.hop_each, self.hop_keep)
        named = QueryEntities.find(query, snapshot)
        bridged, decisions = follow_bridges(query, snapshot, snapshot.entities(), named, frontier, settings)
        parts = []
        for name in sorted({one.entity for one in bridged}):
            column = [min(one.score, 1.0) if one.entity == name else 0.0 for one in bridged]
            parts.append(Part(f"via {name}", "add", np.array(column)))
        found = np.array([one.row for one in bridged], np.int64)
        ranking = arrange(Ranking.of(snapshot.ids(found), parts, "unit", rows=found))
        note = Note(
            "detail", f"{len(decisions)} bridges from {len(frontier)} chunks", data={"routing": {"hops": decisions}}
        )
        return top(ranking, k).noted(note)
