"""The one total order: (tier asc, score desc, priority asc, source_rank asc, id asc).

Everything that sorts candidates sorts here. Ids compare by code point; scores compare as float64, so two
equal scores are a tie that the later keys break, never the memory layout.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from assay.types import Ranking

TIE_BREAK = ("tier", "score desc", "priority", "source_rank", "id")


def order_index(ranking: Ranking) -> NDArray[np.intp]:
    """The permutation that puts a ranking into the one order."""
    return np.lexsort((ranking.ids, ranking.source_rank, ranking.priority, -ranking.score, ranking.tier))


def arrange(ranking: Ranking) -> Ranking:
    """The ranking in the one order."""
    return ranking.take(order_index(ranking)) if len(ranking) > 1 else ranking


def is_arranged(ranking: Ranking) -> bool:
    """True when the ranking already stands in the one order."""
    if len(ranking) < 2:
        return True
    # Most neighbours differ in tier or score already; only ties pay for the full sort.
    tier, score = ranking.tier, ranking.score
    step = tier[1:].astype(np.int64) - tier[:-1]
    if (step < 0).any():
        return False
    same_tier = step == 0
    if (same_tier & (score[1:] > score[:-1])).any():
        return False
    if not (same_tier & (score[1:] == score[:-1])).any():
        return True
    return bool((order_index(ranking) == np.arange(len(ranking))).all())


def top(ranking: Ranking, k: int) -> Ranking:
    """The first k of an arranged ranking."""
    return ranking if len(ranking) <= k else ranking.take(slice(0, k))


def first_kept(ranking: Ranking) -> Ranking:
    """An arranged ranking without repeated ids; the first place of an id is its place."""
    names = ranking.ids.tolist()
    if len(set(names)) == len(names):
        return ranking
    first = {name: place for place, name in reversed(list(enumerate(names)))}
    return ranking.take(np.array(sorted(first.values())))


def as_source(ranking: Ranking, priority: int) -> Ranking:
    """Stamp a leg's arranged output with its priority and its own ranks, counted from 1."""
    size = len(ranking)
    return replace(
        ranking,
        priority=np.full(size, priority, np.int32),
        source_rank=np.arange(1, size + 1, dtype=np.int32),
    )
