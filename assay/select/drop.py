"""Drops candidates with a note."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.types import Note, Ranking


def keep_only(ranking: Ranking, keep: NDArray[np.bool_], reason: str) -> Ranking:
    """Keep the masked candidates in their order; a note lists the others and the reason."""
    if keep.all():
        return ranking
    return ranking.take(keep).noted(Note("dropped", reason, tuple(ranking.ids[~keep].tolist())))
