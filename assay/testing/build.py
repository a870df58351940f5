"""Rankings written by hand."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from assay.engine.order import arrange, as_source
from assay.types import Part, Ranking, Scale


def found(scores: Mapping[str, float], scale: Scale = "unit", priority: int = 0) -> Ranking:
    """What a leg found: ids with their scores, brought into the one order and stamped as that leg's."""
    column = np.array(list(scores.values()), np.float64)
    return as_source(arrange(Ranking.of(list(scores), [Part("found", "add", column)], scale)), priority)
