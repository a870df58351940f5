"""Weighted sums over legs: the shape that rrf, convex, dbsf and weighted_merge share.

    score = (Σ contribution of each leg, in the order of the legs' names) · 1 / Σ best contribution of each leg

The legs are `add` parts under their names; the division is one `mul` part called "normalise", so the sum
before it is the fold of the parts up to it. The divisor covers all planned legs, so a leg that found nothing scales
every score alike and changes no order (law 6).

Contributions are rounded to a grid of 2**-44 (about 6e-14). Sums of multiples of the grid are exact, so candidates
that tie in exact arithmetic tie here too, whichever legs found them, and no later factor makes or breaks a tie.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from assay.engine.checks import check_number
from assay.engine.order import arrange
from assay.errors import ConfigError, nearest
from assay.fuse.union import unite
from assay.types import Floats, Part, Range, Ranking

GRID = 2.0**-44
MAX_WEIGHT = 10.0
"""The largest weight: the sum of a dozen legs stays below 2**7, where any factor keeps grid neighbours distinct."""


def check_weights(component: str, weights: Mapping[str, float]) -> None:
    for leg, weight in weights.items():
        check_number(f"{component}.weights.{leg}", weight, 0.0, MAX_WEIGHT)


def check_weighted_legs(component: str, weights: Mapping[str, float], legs: Mapping[str, Range]) -> None:
    """Every weight names a planned leg, and at least one planned leg weighs something."""
    for leg in weights:
        if leg not in legs:
            raise ConfigError(
                f"{component}.weights names {leg!r}, which is no leg of this pipeline", nearest(leg, legs)
            )
    if not any(weights.get(leg, 1.0) for leg in legs):
        raise ConfigError(f"{component}: every leg has weight 0", "give at least one leg a weight above 0")


def weighted_sum(
    rankings: Mapping[str, Ranking], contributions: Mapping[str, Floats], best: Mapping[str, float]
) -> Ranking:
    """Fuse rankings from each leg's contributions (in its own order) and its best possible contribution."""
    if not rankings:
        return Ranking.empty("unit")
    union = unite(rankings)
    legs = sorted(rankings)
    peak = sum([round(best[leg] / GRID) * GRID for leg in legs])
    parts = [Part(leg, "add", union.column(leg, _round_to_grid(contributions[leg]))) for leg in legs]
    parts.append(Part("normalise", "mul", np.full(len(union), 1.0 / peak if peak else 0.0)))
    return arrange(
        Ranking.of(union.ids, parts, "unit", rows=union.rows, priority=union.priority, source_rank=union.source_rank)
    )


def _round_to_grid(values: Floats) -> Floats:
    grid: Floats = np.rint(values / GRID) * GRID
    return grid
