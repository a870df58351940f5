"""Adjusts p-values for multiple tests.

Adjusted p-values are returned in the order of the input, never below the raw ones, never above 1, and in the same order
of size: reject if the adjusted p is at most alpha.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from assay.bench.stats.units import Floats, StatisticsError


def holm(ps: ArrayLike) -> Floats:
    """Holm's step-down: the probability of any false discovery stays below alpha.

    With p₁ ≤ … ≤ p_m: adjusted p_i = max over j ≤ i of min(1, (m − j + 1)·p_j).
    """
    raw = _check_p_values(ps)
    order = np.argsort(raw, kind="stable")
    stepped = raw[order] * np.arange(len(raw), 0, -1)
    return _restore_order(np.minimum(1.0, np.maximum.accumulate(stepped)), order)


def benjamini_hochberg(ps: ArrayLike) -> Floats:
    """Benjamini and Hochberg's step-up: the expected share of false discoveries stays below alpha.

    With p₁ ≤ … ≤ p_m: adjusted p_i = min over j ≥ i of min(1, m/j·p_j).
    """
    raw = _check_p_values(ps)
    order = np.argsort(raw, kind="stable")
    stepped = raw[order] * (len(raw) / np.arange(1, len(raw) + 1))
    return _restore_order(np.minimum(1.0, np.minimum.accumulate(stepped[::-1])[::-1]), order)


def _check_p_values(ps: ArrayLike) -> Floats:
    raw = np.asarray(ps, np.float64)
    if raw.ndim != 1 or not bool(((raw >= 0.0) & (raw <= 1.0)).all()):
        raise StatisticsError("a p-value lies in [0, 1], and one is wanted per test", "leave out tests not measured")
    return raw


def _restore_order(adjusted: Floats, order: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Floats:
    back = np.empty_like(adjusted)
    back[order] = adjusted
    return back
