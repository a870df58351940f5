"""Effect sizes of paired differences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assay.bench.stats.units import DECIMALS, Floats, StatisticsError, as_row, exact_mean, standard_deviation

TIE = 1e-9
"""Scores closer than this are equal."""


@dataclass(frozen=True, slots=True)
class EffectSize:
    """The effect sizes of a row of paired differences d.

    mean           mean(d)
    relative       mean(d) / mean of the baseline; None without a baseline, or when that mean is 0
    d_z            mean(d) / sd(d), sd with n − 1: Cohen's d for pairs; None when n < 2 or all d are equal
    wins           queries with d > tie;  ties: |d| ≤ tie;  losses: d < −tie
    rank_biserial  (W₊ − W₋) / (W₊ + W₋) over the ranks of |d|, ties left out, equal |d| sharing their mean rank:
                   1 when every difference is a win, −1 when every one is a loss, 0 without any
    """

    mean: float
    relative: float | None
    d_z: float | None
    wins: int
    ties: int
    losses: int
    rank_biserial: float


def effect_size(differences: ArrayLike, baseline: ArrayLike | None = None, tie: float = TIE) -> EffectSize:
    """Compute effect sizes; `baseline` are the scores of the baseline, for the relative size."""
    row = as_row(differences)
    if not 0.0 <= tie < np.inf:
        raise StatisticsError(f"a tie tolerance of {tie} is none", "give 0 or a small positive number")
    mean = exact_mean(row)
    wins, losses = int((row > tie).sum()), int((row < -tie).sum())
    return EffectSize(
        mean=mean,
        relative=_ratio(mean, exact_mean(as_row(baseline))) if baseline is not None else None,
        d_z=_ratio(mean, standard_deviation(row)),
        wins=wins,
        ties=len(row) - wins - losses,
        losses=losses,
        rank_biserial=_rank_biserial(row[np.abs(row) > tie]),
    )


def _ratio(value: float, over: float) -> float | None:
    return value / over if over else None


def _rank_biserial(row: Floats) -> float:
    if not len(row):
        return 0.0
    sizes = np.round(np.abs(row), DECIMALS)
    _, code, counts = np.unique(sizes, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2.0)[code]
    return float((np.sign(row) * ranks).sum() / ranks.sum())
