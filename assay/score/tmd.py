"""Is it of the same kind? Agreement of Task/Modifier/Domain codes, blended into the score (001, stage 3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import ClassVar, Literal

import numpy as np

from assay.engine.checks import check_choice, check_number
from assay.engine.facts import numbers_of
from assay.engine.order import arrange
from assay.protocols import Snapshot
from assay.score.tmd_ladder import Ladder
from assay.score.tmd_layout import LAYOUTS, layout
from assay.types import Note, Part, Query, Range, Ranking

Families = tuple[tuple[str, tuple[int, ...]], ...]
Sisters = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Tmd:
    """Blends in how well a candidate's code agrees with the query's.

        score = weight · score + (1 − weight) · align                align by `tmd.ladder`, in [0.2, 1]

    `weight` is λ, called lambda_tmd on 001's wire though it weighs the other side; 1 leaves the order as it is.
    The query's code stands in `extra["tmd_bits"]`, its lane in `extra["lane"]` (by default the code's own). A query
    without a code changes nothing, on the record; a candidate without one stands on the lowest rung.
    `ladder = "spec"` is 001 to the letter, "monotone" never scores more agreement lower.
    """

    needs: ClassVar[frozenset[str]] = frozenset()

    weight: float = 0.7
    ladder: Literal["spec", "monotone"] = "monotone"
    layout: Literal["spec", "wide"] = "spec"
    families: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    sisters: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        check_number("tmd.weight", self.weight, 0.0, 1.0)
        check_choice("tmd.layout", self.layout, LAYOUTS)
        self.rungs()

    def rungs(self) -> Ladder:
        families = tuple((name, tuple(domains)) for name, domains in sorted(self.families.items()))
        return _ladder(self.ladder, self.layout, families, tuple(tuple(pair) for pair in self.sisters))

    def apply(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking:
        if "tmd_bits" not in query.extra:
            return ranking.noted(Note("skipped", "the query has no code; cure: give tmd_bits"))
        bits = int(query.extra["tmd_bits"])
        rungs = self.rungs()
        own = query.extra.get("lane")
        lane = int(rungs.layout.lanes(bits)) if own is None else int(own)
        codes = numbers_of(ranking, snapshot, "tmd_bits")
        known = ~np.isnan(codes)
        whole = np.where(known, codes, 0.0).astype(np.int64)
        lanes = numbers_of(ranking, snapshot, "lane")
        lanes = np.where(np.isnan(lanes), rungs.layout.lanes(whole), lanes)
        align = np.where(known, rungs.align(bits, lane, whole, lanes), rungs.lowest)
        return arrange(
            ranking.scored(
                Part("tmd.keep", "mul", np.full(len(ranking), self.weight)),
                Part("tmd", "add", (1.0 - self.weight) * align),
            )
        )

    def gives(self, given: Range) -> Range:
        rest = 1.0 - self.weight
        lowest = self.weight * given.lo + rest * self.rungs().lowest
        return Range(given.scale, lowest, self.weight * given.hi + rest)


@cache
def _ladder(name: str, bits: str, families: Families, sisters: Sisters) -> Ladder:
    return Ladder(name, layout(bits), dict(families), sisters)
