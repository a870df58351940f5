"""Similarity of two ranked lists: overlap at a depth, and rank-biased overlap."""

from __future__ import annotations

from collections.abc import Sequence

PERSISTENCE = 0.9
"""The reader goes on to the next result with this probability: 86 % of the weight lies on the first ten."""


def overlap(a: Sequence[str], b: Sequence[str]) -> float:
    """|A ∩ B| / max(|A|, |B|); 1 for two empty lists."""
    longest = max(len(a), len(b))
    return len(set(a) & set(b)) / longest if longest else 1.0


def rbo(a: Sequence[str], b: Sequence[str], p: float = PERSISTENCE) -> float:
    """Extrapolated rank-biased overlap in [0, 1] (Webber, Moffat and Zobel 2010, equation 32); ids are unique.

    With X_d common ids in the first d of both, s and l the shorter and longer length:

        (1−p)/p · ( Σ_{d=1..l} X_d/d · p^d  +  Σ_{d=s+1..l} X_s (d−s)/(s d) · p^d )  +  ((X_l − X_s)/l + X_s/s) · p^l

    Equal lists give 1, lists without a common id 0, two empty lists 1. A list that is the beginning of the other
    gives 1 too: nothing says what would have followed.
    """
    if list(a) == list(b):
        return 1.0
    short, long = sorted((a, b), key=len)
    s, l = len(short), len(long)  # noqa: E741 - the paper's names
    if not s:
        return 0.0
    common = [0]
    seen_short: set[str] = set()
    seen_long: set[str] = set()
    for depth in range(l):
        seen_long.add(long[depth])
        seen_short.update(short[depth : depth + 1])
        common.append(len(seen_short & seen_long))
    total = sum(common[d] / d * p**d for d in range(1, l + 1))
    total += sum(common[s] * (d - s) / (s * d) * p**d for d in range(s + 1, l + 1))
    value = (1 - p) / p * total + ((common[l] - common[s]) / l + common[s] / s) * p**l
    return min(max(value, 0.0), 1.0)
