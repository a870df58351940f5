"""Blends a model's scores into a pool of candidates by standard scores, and keeps the range of their scores.

    blend = z(score) + weight · z(likeness)       z(x) = (x − mean) / standard deviation, over the pool

The blend is rescaled linearly to the pool's own scores: the best candidate gets the pool's highest score, the worst its
lowest. So scores stay unit scores, nothing outside the pool passes anything inside it, and candidates outside keep
score and order. Where that leaves no range (equal scores in the pool, or its last one ties with the first outside) the
worst gets the middle between the highest score inside and the highest outside (0 if there is none); when those two are
equal, the pool keeps its scores. Tiers are blended one by one, since a stage moves nothing across tiers.
"""

from __future__ import annotations

import numpy as np

from assay.engine.order import arrange
from assay.types import Floats, Part, Range, Ranking


def blend_in(ranking: Ranking, likeness: Floats, weight: float, part: str) -> Ranking:
    """Blend the likeness of the first candidates into a ranking; NaN counts as average."""
    change = np.zeros(len(ranking))
    for tier in np.unique(ranking.tier[: len(likeness)]):
        tier_places = np.flatnonzero(ranking.tier == tier)
        inside, outside = tier_places[tier_places < len(likeness)], tier_places[tier_places >= len(likeness)]
        score = ranking.score[inside]
        below = float(ranking.score[outside[0]]) if len(outside) else None
        change[inside] = rescale(score, blend(score, likeness[inside], weight), below) - score
    return arrange(ranking.scored(Part(part, "add", change)).clamped())


def blended_range(scores: Range) -> Range:
    """The range of blended scores: the worst of a pool may get the middle between its highest score and 0."""
    return Range("unit", scores.lo / 2.0, scores.hi)


def blend(score: Floats, likeness: Floats, weight: float) -> Floats:
    """z(score) + weight · z(likeness)."""
    return _standardise(score) + weight * _standardise(likeness)


def rescale(score: Floats, by: Floats, below: float | None) -> Floats:
    """Map `by` linearly onto the range of `score`; `below` is the best score outside, if any."""
    low, high = float(score.min()), float(score.max())
    spread = float(by.max() - by.min())
    if spread == 0.0:
        return score
    floor = 0.0 if below is None else below
    bottom = low if low < high and (below is None or low > below) else (high + floor) / 2.0
    rescaled: Floats = bottom + (high - bottom) * ((by - by.min()) / spread)
    return rescaled


def _standardise(values: Floats) -> Floats:
    """Standard scores; 0 for NaN, and for all values when they are equal."""
    known = values[~np.isnan(values)]
    deviation = float(known.std()) if len(known) and known.max() > known.min() else 0.0
    if deviation == 0.0:  # also when the squares of tiny differences underflow
        return np.zeros(len(values))
    return np.nan_to_num((values - float(known.mean())) / deviation, nan=0.0)
