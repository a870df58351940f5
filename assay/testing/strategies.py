"""Hypothesis strategies for rankings: short, full of ties, legs that overlap, and legs that found nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from hypothesis import strategies as st

from assay.engine.order import arrange, stamp_ranks
from assay.types import Part, Range, Ranking

IDS = tuple(f"c{number:02d}" for number in range(16))
"""Few names, so that legs often find the same chunk."""
UNIT = Range("unit", 0.0, 1.0)


def scores(within: Range) -> st.SearchStrategy[float]:
    """Scores of a range, most of them one of five values; an open range is cut at a thousand."""
    lo, hi = max(within.lo, -1000.0), min(within.hi, 1000.0)
    few = [lo + (hi - lo) * step / 4 for step in range(5)]
    return st.one_of(st.sampled_from(few), st.sampled_from(few), st.floats(lo, hi))


@st.composite
def rankings(
    draw: st.DrawFn,
    ids: Sequence[str] = IDS,
    within: Range = UNIT,
    *,
    tiers: bool = False,
    least: int = 0,
) -> Ranking:
    """An arranged ranking over some of the ids; with `tiers`, some stand in a later tier.

    Sometimes it knows its rows, which are then places in `ids`: right for a snapshot whose row i holds ids[i].
    """
    names = draw(st.lists(st.sampled_from(ids), unique=True, min_size=least))
    size = len(names)
    column = np.array(draw(st.lists(scores(within), min_size=size, max_size=size)), np.float64)
    tier = draw(st.lists(st.integers(0, 2), min_size=size, max_size=size)) if tiers else [0] * size
    found = Ranking.of(
        names,
        [Part("found", "add", column)],
        within.scale,
        tier=np.array(tier, np.int32),
        rows=np.array([ids.index(name) for name in names], np.int64) if draw(st.booleans()) else None,
    )
    return stamp_ranks(arrange(found), draw(st.integers(0, 2)))


def leg_rankings(legs: Mapping[str, Range], ids: Sequence[str] = IDS) -> st.SearchStrategy[dict[str, Ranking]]:
    """What the planned legs found, each within its range; any of them may be empty."""
    return st.fixed_dictionaries({leg: rankings(ids, within) for leg, within in legs.items()})
