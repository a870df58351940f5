"""BM25 over whole posting lists: the same numbers as the embedded store's, for backends that give lists and no bounds.

    score(q, d) = Σ_t idf(t) · tf·(k1+1) / (tf + k1·(1 − b + b·dl/avgdl))     k1 = 1.2, b = 0.75

with N, df and avgdl over the live rows of a view. Rows are a record's sequence numbers; places count the live ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from assay.backend.shared.bm25 import ScoredRows
from assay.index.words import K1, damping, idf, saturation
from assay.types import Floats, Rows
from assay.where import Mask

Posting = tuple[Rows, Floats]
"""Rows, or places, that hold a term, ascending, with how often they do."""


@dataclass(frozen=True, eq=False)
class LiveRows:
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

    @cached_property
    def damped(self) -> Floats:
        return damping(self.lengths, self.average)

    def placed(self, posting: Posting) -> Posting:
        """A posting by places; rows that are not alive here have none."""
        rows, counts = posting
        places, alive = self.places(rows)
        return (places, counts) if alive.all() else (places[alive], counts[alive])

    def places(self, rows: Rows) -> tuple[Rows, Mask]:
        """Where rows stand, and which of them stand there at all."""
        if not self.size:
            return np.zeros(len(rows), np.int64), np.zeros(len(rows), np.bool_)
        places = np.searchsorted(self.seqs, rows)
        return places, self.seqs.take(places, mode="clip") == rows

    def mask(self, rows: Rows) -> Mask:
        """These rows among the live ones."""
        places, alive = self.places(rows)
        out = np.zeros(self.size, np.bool_)
        out[places[alive]] = True
        return out

    def weights(self, lists: Sequence[Posting]) -> Floats:
        """idf of terms from their live postings."""
        return idf(np.array([len(places) for places, _ in lists], np.float64), float(self.size))


@dataclass(frozen=True, slots=True)
class PostingsScorer:
    """What a scan found, by places; `whole` is how many hold every term, `broadened` whether others count too."""

    scored: ScoredRows
    whole: int
    broadened: bool


def scan(roll: LiveRows, lists: Sequence[Posting], k: int, allowed: Mask | None, all_first: bool) -> PostingsScorer:
    """The best k places, ties of the last included, with what each term gave them. `lists` are by places.

    `all_first` looks at those that hold every term, and at the others only if those are fewer than k.
    """
    weights = roll.weights(lists)
    total, terms = np.zeros(roll.size), np.zeros(roll.size, np.int32)
    for weight, (places, counts) in zip(weights, lists, strict=True):  # in the order of the terms, as the final sum
        total[places] += weight * saturation(counts, roll.damped[places])
        terms[places] += 1
    hit = terms > 0 if allowed is None else (terms > 0) & allowed
    every = hit & (terms == len(lists))
    whole = int(np.count_nonzero(every))
    broadened = not all_first or whole < k
    found = np.flatnonzero(hit if broadened else every)
    if len(found) > k:
        scores = total[found]
        found = found[scores >= np.partition(scores, len(found) - k)[len(found) - k]]
    return PostingsScorer(rate(roll, lists, found), whole, broadened)


def rate(roll: LiveRows, lists: Sequence[Posting], wanted: Rows) -> ScoredRows:
    """These places, in their order, with what each term gives them, be it nothing."""
    weights = roll.weights(lists)
    counted = np.zeros((len(lists), len(wanted)))
    for line, (places, counts) in enumerate(lists):
        counted[line] = _at(places, counts, wanted)
    given = weights[:, None] * saturation(counted, roll.damped[wanted])
    return ScoredRows.of(wanted, given, float(weights.sum() * (K1 + 1.0)))


def _at(places: Rows, counts: Floats, wanted: Rows) -> Floats:
    """The counts of these places; 0 where a posting has none."""
    if not len(places):
        return np.zeros(len(wanted))
    at = np.searchsorted(places, wanted)
    found: NDArray[np.float64] = counts.take(at, mode="clip") * (places.take(at, mode="clip") == wanted)
    return found
