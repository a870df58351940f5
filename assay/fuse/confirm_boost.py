"""Confirmation fusion: a base leg's scores, boosted where a second leg agrees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.engine.checks import check_number, require_unit
from assay.engine.order import arrange
from assay.errors import ConfigError, nearest
from assay.fuse.union import unite
from assay.protocols import Snapshot
from assay.types import Part, Query, Range, Ranking


@dataclass(frozen=True, slots=True)
class ConfirmBoost:
    """The fusion of the memory pipeline: the base leg's score, raised where the confirming leg agrees.

        found by both            score = min(1, base · (1 + bonus))
        found by base alone      score = base
        found by confirm alone   score = max(confirm, floor)

    `base` and `confirm` are leg names. The floor keeps an exact keyword match above weak vector neighbours. Needs unit
    scores from both legs, gives unit scores; where min applies, there is a part "clamp".
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    symmetric: ClassVar[bool] = True

    base: str = "dense"
    confirm: str = "bm25"
    bonus: float = 0.15
    floor: float = 0.5

    def __post_init__(self) -> None:
        check_number("confirm_boost.bonus", self.bonus, 0.0, 10.0)
        check_number("confirm_boost.floor", self.floor, 0.0, 1.0)
        if self.base == self.confirm:
            raise ConfigError(f"confirm_boost: base and confirm are both {self.base!r}", "name two different legs")

    def fuse(self, query: Query, rankings: Mapping[str, Ranking], snapshot: Snapshot) -> Ranking:
        pair = {leg: ranking for leg, ranking in rankings.items() if leg in (self.base, self.confirm)}
        if not pair:
            return Ranking.empty("unit")
        union = unite(pair)
        in_base, in_confirm = union.found_by(self.base), union.found_by(self.confirm)
        scores = {leg: union.column(leg, ranking.score) for leg, ranking in pair.items()}
        zeros = np.zeros(len(union))
        base, confirm = scores.get(self.base, zeros), scores.get(self.confirm, zeros)
        confirm_only = in_confirm & ~in_base
        parts = [
            Part(self.base, "add", base),
            Part("confirmed", "mul", np.where(in_base & in_confirm, 1.0 + self.bonus, 1.0)),
            Part(self.confirm, "add", np.where(confirm_only, confirm, 0.0)),
            Part("floor", "set", np.where(confirm_only & (confirm < self.floor), self.floor, np.nan)),
        ]
        fused = Ranking.of(
            union.ids, parts, "unit", rows=union.rows, priority=union.priority, source_rank=union.source_rank
        )
        return arrange(fused.clamped())

    def gives(self, legs: Mapping[str, Range]) -> Range:
        for field, leg in (("base", self.base), ("confirm", self.confirm)):
            if leg not in legs:
                raise ConfigError(
                    f"confirm_boost.{field} names {leg!r}, which is no leg of this pipeline", nearest(leg, legs)
                )
        for leg, scores in legs.items():
            if leg not in (self.base, self.confirm):
                raise ConfigError(
                    f"confirm_boost fuses {self.base!r} and {self.confirm!r}; leg {leg!r} would be ignored",
                    "drop that leg, or use another fuser",
                )
            require_unit(f"confirm_boost (leg {leg!r})", scores)
        base, confirm = legs[self.base], legs[self.confirm]
        lo = min(base.lo, max(confirm.lo, self.floor))
        return Range("unit", lo, max(min(1.0, base.hi * (1.0 + self.bonus)), confirm.hi, self.floor))
