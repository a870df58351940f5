"""The interval of a ratio of two latency percentiles, from times of the same questions, taken in turns.

    ratio    = percentile(b) / percentile(a)
    interval = the middle 95 % of the ratio over resamples of the questions, both systems resampled alike

A machine that does something else now and then slows some questions of one system and others of the other. The ratio
then hangs on which questions are drawn, and the interval is wide.
"""

from __future__ import annotations

import numpy as np

from assay.types import Floats

DRAWS = 2_000
SEED = 0


def latency_interval(a: Floats, b: Floats, q: float, level: float = 0.95) -> tuple[float, float]:
    """The interval of percentile q of b over that of a. Milliseconds above 0, one of each for every question."""
    places = np.random.default_rng(SEED).integers(0, len(a), (DRAWS, len(a)))
    ratios = np.percentile(b[places], q, axis=1) / np.percentile(a[places], q, axis=1)
    low, high = np.percentile(ratios, [50.0 * (1.0 - level), 50.0 * (1.0 + level)])
    return float(low), float(high)
