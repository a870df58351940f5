"""Keep the first leg as it is; fill from the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.engine.checks import check_whole
from assay.engine.order import arrange
from assay.fuse.union import known_rows
from assay.protocols import Snapshot
from assay.types import Note, Part, Query, Range, Ranking, Scale


@dataclass(frozen=True, slots=True)
class AppendFill:
    """The default fusion of 000: must-first, then fill.

    Legs stand in the order of their priority (equal priorities: of their names). The first leg that found
    anything keeps its ranking; every further one appends, in its own order, what nobody before it found.
    `max_fill` bounds how many are appended in all; absent, there is no bound. What it cuts off is noted.

    Writes `tier`: 0 for the first leg, 1 for the next, and so on (a leg whose ranking has tiers of its own
    keeps them, one after another). The score is the score in the leg that gave the candidate its place; scores
    of different tiers are not comparable. The scale is unit only if every leg's is.
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    symmetric: ClassVar[bool] = True

    max_fill: int | None = None

    def __post_init__(self) -> None:
        if self.max_fill is not None:
            check_whole("append_fill.max_fill", self.max_fill, 0)

    def fuse(self, query: Query, rankings: Mapping[str, Ranking], snapshot: Snapshot) -> Ranking:
        scale: Scale = "unit" if all(r.scale == "unit" for r in rankings.values()) else "raw"
        legs = sorted(
            (leg for leg, found in rankings.items() if len(found)),
            key=lambda leg: (int(rankings[leg].priority.min()), leg),
        )
        if not legs:
            return Ranking.empty(scale)
        kept: dict[str, Ranking] = {}
        cut: list[str] = []
        seen: set[str] = set()
        room = self.max_fill
        for leg in legs:
            names = rankings[leg].ids.tolist()
            fresh = [place for place, name in enumerate(names) if name not in seen]
            seen.update(names)
            if kept and room is not None:
                cut += [names[place] for place in fresh[room:]]
                fresh = fresh[:room]
                room -= len(fresh)
            kept[leg] = rankings[leg].take(np.array(fresh, np.intp))
        notes = [Note("dropped", f"more than max_fill = {self.max_fill} to append", tuple(cut))] if cut else []
        return arrange(_stack(kept, scale, notes))

    def gives(self, legs: Mapping[str, Range]) -> Range:
        scale: Scale = "unit" if all(scores.scale == "unit" for scores in legs.values()) else "raw"
        return Range(scale, min(scores.lo for scores in legs.values()), max(scores.hi for scores in legs.values()))


def _stack(kept: Mapping[str, Ranking], scale: Scale, notes: list[Note]) -> Ranking:
    """The kept parts of the legs, one below the other, each leg's tiers below those of the leg before."""
    every = list(kept.values())
    size = sum(len(found) for found in every)
    columns, tiers = {}, []
    start = bottom = 0
    for leg, found in kept.items():
        columns[leg] = np.zeros(size)
        columns[leg][start : start + len(found)] = found.score
        start += len(found)
        if len(found):
            tiers.append(found.tier - found.tier.min() + bottom)
            bottom = int(tiers[-1].max()) + 1
    return Ranking.of(
        np.concatenate([found.ids for found in every]),
        [Part(leg, "add", columns[leg]) for leg in sorted(columns)],
        scale,
        rows=known_rows(every),
        priority=np.concatenate([found.priority for found in every]),
        source_rank=np.concatenate([found.source_rank for found in every]),
        tier=np.concatenate(tiers).astype(np.int32),
        notes=notes,
    )
