"""How well routing predicts answers: the rank correlation of routing survival with A@400."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.bench.stats import StatisticsError
from assay.bench.stats.units import Floats, as_row, check_draws
from assay.bench.types import Scores


@dataclass(frozen=True, slots=True)
class SurvivalCorrelation:
    """rho      Spearman's rank correlation, ties by mean rank; None when one side has no spread
    p        two-sided, by permutation
    ceiling  the rho that the best assignment of the same answers to the same survivals would have
    """

    n: int
    rho: float | None
    p: float | None
    ceiling: float | None


def routing_survival(errors: Sequence[float]) -> float:
    """The product of (1 - error) over the levels of a query; a cross-link hop counts as a level."""
    for error in errors:
        if not 0.0 <= error <= 1.0:
            raise StatisticsError(f"a routing error lies in [0, 1], not {error}", "give the graded error per level")
    return float(np.prod([1.0 - error for error in errors]))


def correlate_survival(survival: Scores, answers: Scores, *, draws: int = 10_000, seed: int = 0) -> SurvivalCorrelation:
    """Correlate routing survival with answers over the same queries."""
    check_draws(draws)
    x, y = as_row(survival), as_row(answers)
    if len(x) != len(y):
        raise StatisticsError(f"{len(x)} survivals and {len(y)} answers are not pairs", "give one of each per query")
    rho = spearman(x, y)
    if rho is None:
        return SurvivalCorrelation(len(x), None, None, None)
    random = np.random.Generator(np.random.PCG64(seed))
    ranks_x, ranks_y = mean_ranks(x), mean_ranks(y)
    observed = abs(_covariance(ranks_x, ranks_y))
    extreme = sum(abs(_covariance(ranks_x, random.permutation(ranks_y))) >= observed - 1e-9 for _ in range(draws))
    return SurvivalCorrelation(len(x), rho, (1 + extreme) / (1 + draws), spearman(np.sort(x), np.sort(y)))


def spearman(x: Floats, y: Floats) -> float | None:
    """Spearman's rho: the correlation of mean ranks; None when one side has no spread."""
    ranks_x, ranks_y = mean_ranks(x), mean_ranks(y)
    spread = _covariance(ranks_x, ranks_x) * _covariance(ranks_y, ranks_y)
    return _covariance(ranks_x, ranks_y) / float(np.sqrt(spread)) if spread > 0.0 else None


def mean_ranks(values: Floats) -> Floats:
    """Ranks from 1; equal values share the mean of their ranks."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: Floats = (last - (counts - 1) / 2.0)[inverse]
    return ranks


def _covariance(x: Floats, y: Floats) -> float:
    return float(((x - x.mean()) * (y - y.mean())).sum())
