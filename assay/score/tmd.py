"""TMD stage: blends the agreement of Task/Modifier/Domain codes into the score (vector cascade, stage 3)."""

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
from assay.score.tmd_ladder import SAME_LANE, Ladder
from assay.score.tmd_layout import LAYOUTS, find_layout
from assay.types import Note, Part, Query, Range, Ranking

Families = tuple[tuple[str, tuple[int, ...]], ...]
Sisters = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Tmd:
    """Blends in how well a candidate's code agrees with the query's.

        score = weight · score + (1 − weight) · align                align by `tmd.ladder`, in [0.2, 1]

    `weight` is λ, the vector cascade's lambda_tmd: despite that name it weighs the score; 1 keeps the order.
    The query's code is in `extra["tmd_bits"]`, its lane in `extra["lane"]` (by default the code's own). With a lane
    alone, candidates of that lane get 1 and all others the lowest value. A query without either changes nothing, with a
    note; a candidate without a code gets the lowest value. `ladder = "spec"` follows the
    specification literally, "monotone" never scores more agreement lower.
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
        self.build_ladder()

    def build_ladder(self) -> Ladder:
        families = tuple((name, tuple(domains)) for name, domains in sorted(self.families.items()))
        return _build_ladder(self.ladder, self.layout, families, tuple(tuple(pair) for pair in self.sisters))

    def apply(self, query: Query, ranking: Ranking, snapshot: Snapshot) -> Ranking:
        code, requested_lane = query.extra.get("tmd_bits"), query.extra.get("lane")
        if code is None and requested_lane is None:
            return ranking.noted(Note("skipped", "the query has no code and no lane", cure="give tmd_bits or lane"))
        ladder = self.build_ladder()
        lane = int(ladder.layout.lanes(int(code or 0))) if requested_lane is None else int(requested_lane)
        codes = numbers_of(ranking, snapshot, "tmd_bits")
        known = ~np.isnan(codes)
        whole = np.where(known, codes, 0.0).astype(np.int64)
        lanes = numbers_of(ranking, snapshot, "lane")
        lanes = np.where(np.isnan(lanes), ladder.layout.lanes(whole), lanes)
        if code is None:
            align = np.where(lanes == lane, SAME_LANE, ladder.lowest)
            ranking = ranking.noted(Note("detail", "the query has no code; lanes alone are compared"))
        else:
            align = ladder.align(int(code), lane, whole, lanes)
        align = np.where(known, align, ladder.lowest)
        return arrange(
            ranking.scored(
                Part("tmd.keep", "mul", np.full(len(ranking), self.weight)),
                Part("tmd", "add", (1.0 - self.weight) * align),
            )
        )

    def gives(self, scores: Range) -> Range:
        share = 1.0 - self.weight
        lowest = self.weight * scores.lo + share * self.build_ladder().lowest
        return Range(scores.scale, lowest, self.weight * scores.hi + share)


@cache
def _build_ladder(name: str, bits: str, families: Families, sisters: Sisters) -> Ladder:
    return Ladder(name, find_layout(bits), dict(families), sisters)
