"""Converts scores to and from JSON, and computes their mean.

NaN means that a metric has no value for a topic (evidence metrics without marked evidence). It is not 0: means and
tests exclude such topics. JSON has no NaN, so a receipt contains null.
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

    The sum is exact before rounding, so the order of topics does not matter.
    """
    values = scores[~np.isnan(scores)]
    return round(math.fsum(values.tolist()) / len(values), PLACES) if len(values) else None


def to_json(scores: Scores) -> list[float | None]:
    return [None if math.isnan(value) else round(value, PLACES) for value in scores.tolist()]


def from_json(values: Sequence[float | None]) -> Scores:
    return np.array([np.nan if value is None else value for value in values], np.float64)
