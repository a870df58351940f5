"""Builds rankings from literal scores."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from assay.engine.order import arrange, stamp_ranks
from assay.types import Part, Ranking, Scale


def found(scores: Mapping[str, float], scale: Scale = "unit", priority: int = 0) -> Ranking:
    """A leg's ranking of ids with their scores, in the one order, with the leg's priority and ranks."""
    column = np.array(list(scores.values()), np.float64)
    return stamp_ranks(arrange(Ranking.of(list(scores), [Part("found", "add", column)], scale)), priority)
