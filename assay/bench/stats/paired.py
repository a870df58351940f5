"""Compares two systems on the same queries: difference, interval, p-value, effect sizes and power."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.bench.stats.bootstrap import Groups, Interval, bootstrap_cis
from assay.bench.stats.effects import TIE, effect_size
from assay.bench.stats.power import minimum_effect, power
from assay.bench.stats.signflip import sign_flips
from assay.bench.stats.units import DECIMALS, StatisticsError, exact_mean, standard_deviation
from assay.bench.types import Scores


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """b against a, over the `n` queries for which both have a value; b is better if the difference is above 0.

    difference      mean(b − a), with its bootstrap interval [ci_low, ci_high]
    relative        difference / mean_a; None when mean_a is 0
    p               two-sided, paired sign flips
    d_z             difference / sd(b − a); None when there is no spread
    rank_biserial   wins against losses by rank of size, in [−1, 1]
    wins            queries where b is better; ties, losses likewise
    power           the probability of detecting a true difference of `effect`; None when n < 2
    minimum_effect  the true difference detected with probability .8; None when n < 2
    """

    n: int
    mean_a: float
    mean_b: float
    difference: float
    ci_low: float
    ci_high: float
    relative: float | None
    p: float
    d_z: float | None
    rank_biserial: float
    wins: int
    ties: int
    losses: int
    effect: float
    power: float | None
    minimum_effect: float | None

    def to_dict(self) -> dict[str, Any]:
        """Convert to JSON data: floats to ten decimals and never −0, None for missing values."""
        return {
            name: round(value, DECIMALS) + 0.0 if isinstance(value, float) else value
            for name, value in asdict(self).items()
        }


def compare_pair(
    a: Scores,
    b: Scores,
    *,
    level: float = 0.95,
    draws: int = 10_000,
    seed: int = 0,
    groups: Groups | None = None,
    effect: float = 0.02,
    alpha: float = 0.05,
    tie: float = TIE,
) -> PairedComparison:
    """Compare `b` with the baseline `a`, query by query. A query without a value (NaN) on one side is excluded.

    `groups` names each query's group for the two-level bootstrap; `effect` is the smallest difference of interest.
    """
    return compare_pairs(
        [(a, b)], level=level, draws=draws, seed=seed, groups=groups, effect=effect, alpha=alpha, tie=tie
    )[0]


def compare_pairs(
    pairs: Sequence[tuple[Scores, Scores]],
    *,
    level: float = 0.95,
    draws: int = 10_000,
    seed: int = 0,
    groups: Groups | None = None,
    effect: float = 0.02,
    alpha: float = 0.05,
    tie: float = TIE,
) -> list[PairedComparison]:
    """`compare_pair` of every (a, b) over the same queries; results equal those of single calls.

    Pairs share their random draws, so a hundred cost little more than one.
    """
    names = None if groups is None else np.asarray(groups)
    places_by_mask: dict[bytes, list[int]] = {}
    for place, (a, b) in enumerate(pairs):
        places_by_mask.setdefault(_shared_queries(a, b, names).tobytes(), []).append(place)
    comparisons: dict[int, PairedComparison] = {}
    for mask, places in places_by_mask.items():
        both = np.frombuffer(mask, np.bool_)
        group_names = None if names is None else names[both]
        rows = [(pairs[place][0][both], pairs[place][1][both]) for place in places]
        differences = np.stack([b - a for a, b in rows])
        ps = sign_flips(differences, draws, seed).tolist()
        intervals = bootstrap_cis(differences, level, draws, seed, groups=group_names).tolist()
        for place, (a, b), p, (low, high) in zip(places, rows, ps, intervals, strict=True):
            comparisons[place] = _summarise(a, b, p, Interval(low, high), effect, alpha, tie)
    return [comparisons[place] for place in range(len(pairs))]


def _shared_queries(a: Scores, b: Scores, groups: NDArray[Any] | None) -> NDArray[np.bool_]:
    """Queries with a value on both sides."""
    if a.shape != b.shape or a.ndim != 1 or (groups is not None and groups.shape != a.shape):
        shapes = f"{a.shape} against {b.shape}" + (f" in groups of {groups.shape}" if groups is not None else "")
        raise StatisticsError(f"{shapes}: these are not pairs", "score both on the same queries, in one order")
    both: NDArray[np.bool_] = ~(np.isnan(a) | np.isnan(b))
    if not both.any():
        raise StatisticsError("no query has a value on both sides", "compare on a metric that both runs measured")
    return both


def _summarise(
    a: Scores, b: Scores, p: float, interval: Interval, effect: float, alpha: float, tie: float
) -> PairedComparison:
    differences = b - a
    size = effect_size(differences, a, tie)
    n, sd = len(differences), standard_deviation(differences)
    return PairedComparison(
        n=n,
        mean_a=exact_mean(a),
        mean_b=exact_mean(b),
        difference=size.mean,
        ci_low=interval.low,
        ci_high=interval.high,
        relative=size.relative,
        p=p,
        d_z=size.d_z,
        rank_biserial=size.rank_biserial,
        wins=size.wins,
        ties=size.ties,
        losses=size.losses,
        effect=effect,
        power=power(sd, n, effect, alpha) if n > 1 else None,
        minimum_effect=minimum_effect(sd, n, alpha=alpha) if n > 1 else None,
    )
