"""The power of a paired test, by the normal approximation.

    power(δ) = Φ(|δ|·√n/σ − z) + Φ(−|δ|·√n/σ − z)        z = Φ⁻¹(1 − α/2)
    minimum effect = (z + Φ⁻¹(power))·σ/√n               the far tail, below 5e-5 at α = .05, left out
    needed n = ⌈((z + Φ⁻¹(power))·σ/δ)²⌉

σ is the standard deviation of the paired differences, δ a true mean difference. Choose δ before the experiment: the
power at the observed difference is a function of the p-value.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from assay.bench.stats.units import StatisticsError

_NORMAL = NormalDist()


def power(sd: float, n: int, effect: float, alpha: float = 0.05) -> float:
    """The probability that a two-sided test at `alpha` over `n` pairs detects a true mean difference of `effect`."""
    _check(sd, n, alpha)
    z = _NORMAL.inv_cdf(1.0 - alpha / 2.0)
    if sd == 0.0:
        return 1.0 if effect else alpha
    shift = abs(effect) * math.sqrt(n) / sd
    return _NORMAL.cdf(shift - z) + _NORMAL.cdf(-shift - z)


def minimum_effect(sd: float, n: int, target: float = 0.8, alpha: float = 0.05) -> float:
    """The smallest true mean difference detected with probability `target`."""
    _check(sd, n, alpha)
    return _detection_factor(target, alpha) * sd / math.sqrt(n)


def needed_queries(sd: float, effect: float, target: float = 0.8, alpha: float = 0.05) -> int:
    """The number of queries needed to detect `effect` with probability `target`; at least 2."""
    _check(sd, 1, alpha)
    if not effect:
        raise StatisticsError("no number of queries detects an effect of 0", "name the smallest effect that matters")
    return max(2, math.ceil((_detection_factor(target, alpha) * sd / effect) ** 2))


def _detection_factor(target: float, alpha: float) -> float:
    if not 0.5 <= target < 1.0:
        raise StatisticsError(f"a power of {target} is out of range", "ask for a power from 0.5 to below 1")
    return _NORMAL.inv_cdf(1.0 - alpha / 2.0) + _NORMAL.inv_cdf(target)


def _check(sd: float, n: int, alpha: float) -> None:
    if not (sd >= 0.0 and math.isfinite(sd)):
        raise StatisticsError(f"{sd} is no standard deviation", "give that of the paired differences")
    if n < 1:
        raise StatisticsError(f"{n} pairs show nothing", "give the number of queries")
    if not 0.0 < alpha < 1.0:
        raise StatisticsError(f"an alpha of {alpha} is out of range", "give 0.05")
