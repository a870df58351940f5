"""Dropping on the record."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.types import Note, Ranking


def keep_only(ranking: Ranking, keep: NDArray[np.bool_], reason: str) -> Ranking:
    """The candidates to keep, in the order they had, with a note naming the others and why they left."""
    if keep.all():
        return ranking
    return ranking.take(keep).noted(Note("dropped", reason, tuple(ranking.ids[~keep].tolist())))
