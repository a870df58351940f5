"""Finds which chunks can be among the best k (MaxScore, extended to sets of terms).

A chunk scores less than Σ cap over the terms it holds, cap(t) = idf(t)·(k1+1). To reach a floor, the caps of its terms
must sum to more than the floor; so it holds all terms of one of the *minimal* such sets. With the k-th best score of
any k chunks as the floor, the holders of those sets contain the best k; this is exact. One-term sets are MaxScore's
essential terms; larger sets skip the many chunks that hold one frequent term and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

MOST_SETS = 12
"""Sets of several terms that one statement may name; with more, single terms are used instead."""
_TOGETHER = 0.1
"""Terms of one query co-occur more often than by chance: this share of k expected chunks counts as k."""
_LIKELY = 1.5
"""The k-th best score as a multiple of the weight of the terms it is expected to hold."""

TermSets = tuple[tuple[int, ...], ...]
"""Indexes of terms, each set ascending; a chunk is a candidate when it holds all terms of some set."""


def minimal_sets(caps: Sequence[float], floor: float) -> TermSets:
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

    return tuple(found) if grow((), 0.0, 0) else _essential_terms(caps, order, floor)


def _essential_terms(caps: Sequence[float], order: Sequence[int], floor: float) -> TermSets:
    """MaxScore: the fewest terms, heaviest first, without which no chunk reaches the floor."""
    left = sum(caps)
    needed = []
    for i in order:
        if left <= floor:
            break
        needed.append((i,))
        left -= caps[i]
    return tuple(sorted(needed))


def covers(cover: TermSets, sets: Iterable[tuple[int, ...]]) -> bool:
    """Is every chunk that holds one of these sets a candidate already?"""
    known = [set(one) for one in cover]
    return all(any(one <= set(needed) for one in known) for needed in sets)


def estimate_floor(holders: Sequence[int], weights: Sequence[float], size: int, k: int) -> float:
    """Estimate the k-th best score. Enough chunks hold some of the rarest terms, or several terms at once."""
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
