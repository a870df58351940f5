"""Scores as a receipt holds them, and their mean.

NaN means that a metric has no value for a topic (evidence metrics, where nobody marked evidence). It is not a 0:
means and tests leave such topics out. JSON has no NaN, so a receipt says null.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from assay.bench.types import Scores

PLACES = 10
"""Decimals of a score in a receipt."""


def mean(scores: Scores) -> float | None:
    """The mean over topics that have a value, to ten decimals; None when no topic has one.

    The sum is exact before it is rounded, so the order of topics does not matter.
    """
    values = scores[~np.isnan(scores)]
    return round(math.fsum(values.tolist()) / len(values), PLACES) if len(values) else None


def to_json(scores: Scores) -> list[float | None]:
    return [None if math.isnan(value) else round(value, PLACES) for value in scores.tolist()]


def from_json(values: Sequence[float | None]) -> Scores:
    return np.array([np.nan if value is None else value for value in values], np.float64)
