"""The exact confidence interval of a rate k of n.

Clopper and Pearson: low is the rate at which k or more of n happen with chance α/2, high the one at which k or
fewer do. Both are quantiles of beta distributions:

    low = B⁻¹(α/2; k, n − k + 1), 0 when k = 0          high = B⁻¹(1 − α/2; k + 1, n − k), 1 when k = n
"""

from __future__ import annotations

import math

from assay.bench.stats.bootstrap import Interval
from assay.bench.stats.units import StatisticsError

_TINY = 1e-300


def clopper_pearson(k: int, n: int, level: float = 0.95) -> Interval:
    """The interval that covers the true rate with probability `level` or more."""
    if not 0 <= k <= n or n == 0:
        raise StatisticsError(f"{k} of {n} is no rate", "give successes and trials, 0 ≤ k ≤ n, n ≥ 1")
    if not 0.0 < level < 1.0:
        raise StatisticsError(f"a level of {level} is none", "a level lies between 0 and 1: 0.95")
    tail = (1.0 - level) / 2.0
    low = beta_quantile(tail, k, n - k + 1) if k else 0.0
    high = beta_quantile(1.0 - tail, k + 1, n - k) if k < n else 1.0
    return Interval(low, high)


def beta_quantile(chance: float, a: float, b: float) -> float:
    """The x at which the distribution function reaches `chance`, by bisection down to neighbouring floats."""
    low, high = 0.0, 1.0
    while True:
        middle = (low + high) / 2.0
        if middle in (low, high):
            return middle
        if beta_cdf(middle, a, b) < chance:
            low = middle
        else:
            high = middle


def beta_cdf(x: float, a: float, b: float) -> float:
    """I_x(a, b), the regularised incomplete beta function, by its continued fraction (DLMF 8.17.22)."""
    if x <= 0.0 or x >= 1.0:
        return float(x >= 1.0)
    if x > (a + 1.0) / (a + b + 2.0):  # there the fraction converges slowly; the other tail is fast
        return 1.0 - beta_cdf(1.0 - x, b, a)
    front = a * math.log(x) + b * math.log1p(-x) - math.log(a)
    front += math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return math.exp(front) / _fraction(x, a, b)


def _fraction(x: float, a: float, b: float) -> float:
    """1 + d₁/(1 + d₂/(1 + …)) by Lentz's method, evaluated front to back."""
    value = c = 1.0
    d = 0.0
    m = 0
    while True:
        for term in _terms(m, x, a, b):
            d = 1.0 / ((1.0 + term * d) or _TINY)
            c = (1.0 + term / c) or _TINY
            value *= c * d
        if abs(c * d - 1.0) < 1e-15 or m > 100_000:
            return value
        m += 1


def _terms(m: int, x: float, a: float, b: float) -> tuple[float, float]:
    """The coefficients d_{2m+1} and d_{2m+2}."""
    odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
    k = m + 1
    even = k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k))
    return odd, even
