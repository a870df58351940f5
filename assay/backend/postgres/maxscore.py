"""Who must be looked at so that the best k cannot be missed: sets of terms, one of which a chunk must hold whole.

A chunk scores less than Σ cap over the terms it holds, cap(t) = idf(t)·(k1+1). To reach a floor, the caps of what it
holds must sum to more than it; so it holds one of the *smallest* such sets, whole. Given the k-th best score of any k
chunks as the floor, the holders of those sets contain the best k: a proof, not a guess. One-term sets are MaxScore's
essential terms; larger ones spare us the many chunks that hold one frequent term and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

MOST_SETS = 12
"""Sets with several terms that are asked for in one statement; with more, single terms are asked for instead."""
_TOGETHER = 0.1
"""Terms of one question stand together more often than chance has it: by this share of k we believe in k chunks."""
_LIKELY = 1.5
"""The k-th best score as a multiple of the weight of the terms it is expected to hold."""

Cover = tuple[tuple[int, ...], ...]
"""Places of terms, each set ascending; a chunk is looked at when it holds all terms of some set."""


def smallest_sets(caps: Sequence[float], floor: float) -> Cover:
    """The smallest sets of terms whose caps sum to more than a floor; single terms where they would be too many."""
    order = sorted(range(len(caps)), key=lambda i: (-caps[i], i))
    if floor <= 0.0:
        return tuple((i,) for i in sorted(order))
    found: list[tuple[int, ...]] = []
    behind = np.cumsum([caps[i] for i in reversed(order)])[::-1].tolist()  # what is left from a place on

    def grow(chosen: tuple[int, ...], total: float, start: int) -> bool:
        """Add every set that begins so; False when there are too many. Caps fall, so a set is smallest when it passes
        the floor with its last term, whose cap is its least."""
        for place in range(start, len(order)):
            if total + behind[place] <= floor:
                return True  # not even all that is left would do
            more = (*chosen, order[place])
            if total + caps[order[place]] > floor:
                found.append(tuple(sorted(more)))
            elif not grow(more, total + caps[order[place]], place + 1):
                return False
            if sum(len(one) > 1 for one in found) > MOST_SETS:
                return False
        return True

    return tuple(found) if grow((), 0.0, 0) else _singles(caps, order, floor)


def _singles(caps: Sequence[float], order: Sequence[int], floor: float) -> Cover:
    """MaxScore: the fewest terms, heaviest first, without which nobody reaches the floor."""
    left = sum(caps)
    needed = []
    for i in order:
        if left <= floor:
            break
        needed.append((i,))
        left -= caps[i]
    return tuple(sorted(needed))


def covers(cover: Cover, sets: Iterable[tuple[int, ...]]) -> bool:
    """Has every chunk been looked at that holds one of these sets?"""
    known = [set(one) for one in cover]
    return all(any(one <= set(asked) for one in known) for asked in sets)


def likely_floor(holders: Sequence[int], weights: Sequence[float], size: int, k: int) -> float:
    """A guess at the k-th best score. Enough chunks hold some of the rarest terms, or several terms at once."""
    rarest = sorted(range(len(holders)), key=lambda i: (holders[i], i))
    counted = np.cumsum([holders[i] for i in rarest])
    first = int(np.searchsorted(counted, k))
    if first >= len(rarest):
        return 0.0  # all holders together are fewer than k
    single = weights[rarest[first]]
    together, expected = 0.0, float(size)
    for i in (i for i in rarest if holders[i] >= k):
        expected *= holders[i] / size
        if expected < _TOGETHER * k:
            break
        together += weights[i]
    return max(_LIKELY * single, 1.3 * together)
