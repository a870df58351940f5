"""BM25 over whole posting lists: the same numbers as the embedded store's, for backends that give lists and no bounds.

    score(q, d) = Σ_t idf(t) · tf·(k1+1) / (tf + k1·(1 − b + b·dl/avgdl))     k1 = 1.2, b = 0.75

with N, df and avgdl over the live rows of a view. Rows are a record's sequence numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from assay.backend.lexical import Scored
from assay.index.words import K1, damping, idf, saturation
from assay.types import Floats, Rows

Posting = tuple[Rows, Floats]
"""Rows that hold a term, ascending, with how often they do."""


@dataclass(frozen=True, eq=False)
class Roll:
    """The live rows of a view, ascending, with the number of terms in each."""

    seqs: Rows
    lengths: Floats

    @property
    def size(self) -> int:
        return len(self.seqs)

    @cached_property
    def average(self) -> float:
        """Mean length of a live row in terms; 1 for an empty store."""
        total = float(self.lengths.sum())
        return total / self.size if self.size and total else 1.0

    def among(self, posting: Posting) -> Posting:
        """A posting without the rows that are not alive here."""
        rows, counts = posting
        alive = held(rows, self.seqs)
        return (rows, counts) if alive.all() else (rows[alive], counts[alive])

    def weights(self, lists: Sequence[Posting]) -> Floats:
        """idf of terms from their live postings."""
        return idf(np.array([len(rows) for rows, _ in lists], np.float64), float(self.size))


def held(rows: Rows, ascending: Rows) -> NDArray[np.bool_]:
    """Which of these rows stand in an ascending list."""
    if not len(ascending):
        return np.zeros(len(rows), np.bool_)
    found: NDArray[np.bool_] = ascending.take(np.searchsorted(ascending, rows), mode="clip") == rows
    return found


@dataclass(frozen=True, slots=True)
class Scan:
    """What a scan found; `whole` is how many rows hold every term, `broadened` whether others were looked at too."""

    scored: Scored
    whole: int
    broadened: bool


def scan(
    roll: Roll, lists: Sequence[Posting], k: int, allowed: Rows | None, all_first: bool, few: Callable[[int], bool]
) -> Scan:
    """The best k rows, ties of the last included, with what each term gave them.

    `all_first` looks at the rows that hold every term, and at the others only if `few` says that those are too few.
    """
    weights = roll.weights(lists)
    ideal = float(weights.sum() * (K1 + 1.0))
    seen = list(lists) if allowed is None else [_kept(posting, allowed) for posting in lists]
    every = _common([rows for rows, _ in seen])
    broadened = not all_first or few(len(every))
    rows = np.unique(np.concatenate([rows for rows, _ in seen])) if broadened else every
    damped = damping(roll.lengths[np.searchsorted(roll.seqs, rows)], roll.average)
    total = np.zeros(len(rows))
    for weight, posting in zip(weights, seen, strict=True):  # in the order of the terms, as the final sum
        here, counts = _placed(posting, rows)
        total[here] += weight * saturation(counts, damped[here])
    best = np.arange(len(rows))
    if len(rows) > k:
        best = np.flatnonzero(total >= np.partition(total, len(rows) - k)[len(rows) - k])
    chosen, damped = rows[best], damped[best]
    counted = np.zeros((len(seen), len(chosen)))
    for line, posting in enumerate(seen):
        here, counts = _placed(posting, chosen)
        counted[line, here] = counts
    given = weights[:, None] * saturation(counted, damped)
    return Scan(Scored.of(chosen, given, ideal), len(every), broadened)


def _kept(posting: Posting, allowed: Rows) -> Posting:
    rows, counts = posting
    keep = held(rows, allowed)
    return rows[keep], counts[keep]


def _common(lists: Sequence[Rows]) -> Rows:
    """Rows that stand in every list."""
    shortest, *others = sorted(lists, key=len)
    for other in others:
        shortest = shortest[held(shortest, other)]
    return shortest


def _placed(posting: Posting, rows: Rows) -> tuple[Rows, Floats]:
    """Where the rows of a posting stand among ascending rows, with their counts; the others are left out."""
    of, counts = posting
    keep = held(of, rows)
    return np.searchsorted(rows, of[keep]), counts[keep]
