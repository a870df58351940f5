"""Freshness by age: the two curves that recency and decay share.

    tau_days         exp(−age / tau)        1/e is left after tau days (the memory pipeline calls it a half-life)
    half_life_days   2 ** (−age / half)     one half is left after half days

Ages are in days, counted from the chunk's creation to the query's `at`.
"""

from __future__ import annotations

import numpy as np

from assay.engine.checks import check_number
from assay.engine.facts import numbers_of
from assay.errors import ConfigError
from assay.protocols import Snapshot
from assay.types import DAY, Floats, Ranking


def check_curve(
    component: str, tau_days: float | None, half_life_days: float | None, default_tau: float
) -> float | None:
    """Check that at most one curve is set; return the tau to use, None when the half-life is set."""
    if tau_days is not None and half_life_days is not None:
        raise ConfigError(
            f"{component}: tau_days = {tau_days!r} and half_life_days = {half_life_days!r} are two different curves",
            "give one of them; 0 switches the stage off",
        )
    if half_life_days is not None:
        check_number(f"{component}.half_life_days", half_life_days, 0.0)
        return None
    tau = default_tau if tau_days is None else tau_days
    check_number(f"{component}.tau_days", tau, 0.0)
    return tau


def compute_freshness(
    ranking: Ranking, snapshot: Snapshot, at: float, tau_days: float | None, half_life_days: float | None
) -> Floats:
    """Freshness of each candidate, in [0, 1]; NaN if it is undated or both curves are off."""
    # Snapshots hide chunks created after `at`, so a negative age can only be rounding.
    age = np.maximum((at - numbers_of(ranking, snapshot, "created")) / DAY, 0.0)
    if tau_days:
        return np.exp(-age / tau_days)
    return np.exp2(-age / half_life_days) if half_life_days else np.full(len(ranking), np.nan)
