"""Race: of several legs the most confident one answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.engine.checks import check_whole, require_unit
from assay.engine.order import arrange
from assay.errors import ConfigError, nearest
from assay.fuse.union import unite
from assay.protocols import Snapshot
from assay.types import Note, Part, Query, Range, Ranking


@dataclass(frozen=True, slots=True)
class Race:
    """The ranking of the leg with the highest confidence = mean of its first `depth` scores, missing ones count as 0.

    The confidence is computed from retrieval scores alone; nothing is trained. The legs' scores must be comparable:
    `beam` and `collapsed` score a chunk alike. A tie goes to the leg with the smaller priority, then by name. The
    trace names the winner and every confidence. `only` names a leg that answers whatever the confidences, as long as it
    found something. Takes and gives unit scores.
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    symmetric: ClassVar[bool] = True

    depth: int = 5
    only: str = ""

    def __post_init__(self) -> None:
        check_whole("race.depth", self.depth, 1)

    def fuse(self, query: Query, rankings: Mapping[str, Ranking], snapshot: Snapshot) -> Ranking:
        ran = {leg: ranking for leg, ranking in rankings.items() if len(ranking)}
        if not ran:
            return Ranking.empty("unit")
        confidence = {leg: self._confidence(ranking) for leg, ranking in sorted(ran.items())}
        winner = min(ran, key=lambda leg: (leg != self.only, -confidence[leg], int(ran[leg].priority.min()), leg))
        union = unite(rankings)
        mine = union.found_by(winner)
        ranking = arrange(
            Ranking.of(
                union.ids[mine],
                [Part(winner, "add", union.column(winner, ran[winner].score)[mine])],
                "unit",
                rows=None if union.rows is None else union.rows[mine],
                priority=union.priority[mine],
                source_rank=union.source_rank[mine],
            )
        )
        others = ", ".join(f"{leg} {confidence[leg]:.3f}" for leg in confidence if leg != winner)
        text = f"{winner} answers: confidence {confidence[winner]:.3f}" + (f" against {others}" if others else "")
        return ranking.noted(Note("info", text, data={"winner": winner, "confidence": confidence}))

    def _confidence(self, ranking: Ranking) -> float:
        return float(np.sort(ranking.score)[::-1][: self.depth].sum()) / self.depth

    def gives(self, legs: Mapping[str, Range]) -> Range:
        if self.only and self.only not in legs:
            raise ConfigError(
                f"race.only names {self.only!r}, which is no leg of this pipeline", nearest(self.only, legs)
            )
        for leg, scores in legs.items():
            require_unit(f"race (leg {leg!r})", scores)
        return Range("unit", 0.0, max(scores.hi for scores in legs.values()))
