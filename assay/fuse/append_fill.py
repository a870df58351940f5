"""Append-and-fill fusion: the first leg's ranking, then what the other legs add."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.engine.checks import check_whole
from assay.engine.order import arrange
from assay.fuse.union import concatenate_rows
from assay.protocols import Snapshot
from assay.types import Note, Part, Query, Range, Ranking, Scale


@dataclass(frozen=True, slots=True)
class AppendFill:
    """The default fusion of the router policy: must-first, then fill.

    Legs are ordered by priority, then by name. The first leg with candidates keeps its ranking; each later one
    appends, in its own order, the candidates that no earlier leg found. `max_fill` bounds how many are appended in
    total; absent, there is no bound. A note lists the candidates it cuts off.

    Writes `tier`: 0 for the first leg, 1 for the next, and so on (a leg's own tiers are kept, one after another).
    The score is that of the leg that placed the candidate; scores of different tiers are not comparable. The scale
    is unit only if every leg's is.
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
            (leg for leg, ranking in rankings.items() if len(ranking)),
            key=lambda leg: (int(rankings[leg].priority.min()), leg),
        )
        if not legs:
            return Ranking.empty(scale)
        selected: dict[str, Ranking] = {}
        dropped: list[str] = []
        seen: set[str] = set()
        remaining = self.max_fill
        for leg in legs:
            names = rankings[leg].ids.tolist()
            new_places = [place for place, name in enumerate(names) if name not in seen]
            seen.update(names)
            if selected and remaining is not None:
                dropped += [names[place] for place in new_places[remaining:]]
                new_places = new_places[:remaining]
                remaining -= len(new_places)
            selected[leg] = rankings[leg].take(np.array(new_places, np.intp))
        notes = [Note("dropped", f"more than max_fill = {self.max_fill} to append", tuple(dropped))] if dropped else []
        return arrange(_stack(selected, scale, notes))

    def gives(self, legs: Mapping[str, Range]) -> Range:
        scale: Scale = "unit" if all(scores.scale == "unit" for scores in legs.values()) else "raw"
        return Range(scale, min(scores.lo for scores in legs.values()), max(scores.hi for scores in legs.values()))


def _stack(selected: Mapping[str, Ranking], scale: Scale, notes: list[Note]) -> Ranking:
    """Concatenate the legs' selected candidates, each leg's tiers below those of the leg before."""
    rankings_in_order = list(selected.values())
    size = sum(len(ranking) for ranking in rankings_in_order)
    columns, tiers = {}, []
    start = bottom = 0
    for leg, ranking in selected.items():
        columns[leg] = np.zeros(size)
        columns[leg][start : start + len(ranking)] = ranking.score
        start += len(ranking)
        if len(ranking):
            tiers.append(ranking.tier - ranking.tier.min() + bottom)
            bottom = int(tiers[-1].max()) + 1
    return Ranking.of(
        np.concatenate([ranking.ids for ranking in rankings_in_order]),
        [Part(leg, "add", columns[leg]) for leg in sorted(columns)],
        scale,
        rows=concatenate_rows(rankings_in_order),
        priority=np.concatenate([ranking.priority for ranking in rankings_in_order]),
        source_rank=np.concatenate([ranking.source_rank for ranking in rankings_in_order]),
        tier=np.concatenate(tiers).astype(np.int32),
        notes=notes,
    )
