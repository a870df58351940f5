"""The one total order: (tier asc, score desc, priority asc, source_rank asc, id asc).

Everything that sorts candidates sorts here. Ids compare by code point; scores compare as float64, so two
equal scores are a tie that the later keys break, never the memory layout.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.types import Ranking

TIE_BREAK = ("tier", "score desc", "priority", "source_rank", "id")


def order_index(ranking: Ranking) -> NDArray[np.intp]:
    """The permutation that puts a ranking into the one order."""
    if not ranking.tier.any():
        index = np.argsort(-ranking.score, kind="stable")
        falling = ranking.score[index]
        if (falling[1:] < falling[:-1]).all():
            return index  # most rankings need no other key
    numbers = (ranking.source_rank, ranking.priority, -ranking.score, ranking.tier)
    index = np.lexsort(numbers)
    before, after = index[:-1], index[1:]
    for key in numbers:
        tied = key[before] == key[after]
        before, after = before[tied], after[tied]
        if not len(before):
            return index
    return np.lexsort((ranking.ids, *numbers))  # texts are slow to sort


def arrange(ranking: Ranking) -> Ranking:
    """The ranking in the one order."""
    return ranking.take(order_index(ranking)) if len(ranking) > 1 else ranking


def is_arranged(ranking: Ranking) -> bool:
    """True when the ranking already stands in the one order."""
    if len(ranking) < 2:
        return True
    tier, score = ranking.tier, ranking.score
    falls = (tier[1:] == tier[:-1]) & (score[1:] < score[:-1])
    if falls.all():
        return True
    # Neighbours that one key leaves tied go on to the next.
    left = np.flatnonzero(~falls)
    keys: tuple[NDArray[Any], ...] = (tier, -score, ranking.priority, ranking.source_rank, ranking.ids)
    for key in keys:
        before, after = key[left], key[left + 1]
        if (before > after).any():
            return False
        left = left[before == after]
        if not len(left):
            break
    return True


def top(ranking: Ranking, k: int) -> Ranking:
    """The first k of an arranged ranking."""
    return ranking if len(ranking) <= k else ranking.take(slice(0, k))


def deduplicate(ranking: Ranking) -> Ranking:
    """An arranged ranking without repeated ids; the first place of an id is its place."""
    if ranking.rows is not None and len(set(ranking.rows.tolist())) == len(ranking):
        return ranking  # rows stand for ids, and are quicker to tell apart
    names = ranking.ids.tolist()
    if len(set(names)) == len(names):
        return ranking
    first = {name: place for place, name in reversed(list(enumerate(names)))}
    return ranking.take(np.array(sorted(first.values())))


def stamp_ranks(ranking: Ranking, priority: int) -> Ranking:
    """Stamp a leg's arranged output with its priority and its own ranks, counted from 1."""
    size = len(ranking)
    return Ranking(
        ids=ranking.ids,
        score=ranking.score,
        tier=ranking.tier,
        priority=np.full(size, priority, np.int32),
        source_rank=np.arange(1, size + 1, dtype=np.int32),
        parts=ranking.parts,
        scale=ranking.scale,
        rows=ranking.rows,
        notes=ranking.notes,
    )
