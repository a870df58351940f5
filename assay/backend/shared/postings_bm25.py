"""BM25 over whole posting lists, with the same scores as the local backend, for backends without score bounds.

    score(q, d) = Σ_t boost(t) · idf(t) · tf·(k1+1) / (tf + k1·(1 − b + b·dl/avgdl))

with N, df and avgdl over the live rows of a view, and boosts from query_terms.py. Rows are the store's sequence
numbers; positions count the live ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from assay.backend.shared.bm25 import ScoredRows
from assay.index.similarity import Bm25Similarity, idf
from assay.types import Floats, Rows
from assay.where import Mask

Posting = tuple[Rows, Floats]
"""Rows, or positions, that hold a term, ascending, with the term's count in each."""


@dataclass(frozen=True, eq=False)
class LiveRows:
    """The live rows of a view, ascending, with the number of terms in each."""

    seqs: Rows
    lengths: Floats
    similarity: Bm25Similarity

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
        return self.similarity.damping(self.lengths, self.average)

    def to_positions(self, posting: Posting) -> Posting:
        """A posting by positions; rows that are not live here are left out."""
        rows, counts = posting
        positions, live = self.positions(rows)
        return (positions, counts) if live.all() else (positions[live], counts[live])

    def positions(self, rows: Rows) -> tuple[Rows, Mask]:
        """Positions of rows, and which of the rows are live."""
        if not self.size:
            return np.zeros(len(rows), np.int64), np.zeros(len(rows), np.bool_)
        positions = np.searchsorted(self.seqs, rows)
        return positions, self.seqs.take(positions, mode="clip") == rows

    def mask(self, rows: Rows) -> Mask:
        """A mask over the live rows: True for these."""
        positions, live = self.positions(rows)
        out = np.zeros(self.size, np.bool_)
        out[positions[live]] = True
        return out

    def idf(self, lists: Sequence[Posting]) -> Floats:
        """idf of terms from their live postings."""
        return idf(np.array([len(positions) for positions, _ in lists], np.float64), float(self.size))


@dataclass(frozen=True, slots=True)
class PostingsScan:
    """The result of a scan, by positions; `whole` is how many hold every term, `broadened` whether others count too."""

    scored: ScoredRows
    whole: int
    broadened: bool


def scan_postings(
    live: LiveRows, lists: Sequence[Posting], boosts: Floats, k: int, allowed: Mask | None, all_first: bool
) -> PostingsScan:
    """The best k positions, ties of the last included, with each term's contribution. `lists` are by positions.

    `all_first` ranks only those that hold every term, unless they are fewer than k.
    """
    weights = live.idf(lists) * boosts
    total, terms = np.zeros(live.size), np.zeros(live.size, np.int32)
    for weight, (positions, counts) in zip(weights, lists, strict=True):  # in the order of the terms, as the final sum
        total[positions] += weight * live.similarity.saturation(counts, live.damped[positions])
        terms[positions] += 1
    hit = terms > 0 if allowed is None else (terms > 0) & allowed
    every = hit & (terms == len(lists))
    whole = int(np.count_nonzero(every))
    broadened = not all_first or whole < k
    best = np.flatnonzero(hit if broadened else every)
    if len(best) > k:
        scores = total[best]
        best = best[scores >= np.partition(scores, len(best) - k)[len(best) - k]]
    return PostingsScan(score_positions(live, lists, boosts, best), whole, broadened)


def score_positions(live: LiveRows, lists: Sequence[Posting], boosts: Floats, wanted: Rows) -> ScoredRows:
    """Score these positions, in their order; 0 for one that holds none of the terms."""
    weights = live.idf(lists) * boosts
    term_counts = np.zeros((len(lists), len(wanted)))
    for line, (positions, counts) in enumerate(lists):
        term_counts[line] = _counts_at(positions, counts, wanted)
    contributions = weights[:, None] * live.similarity.saturation(term_counts, live.damped[wanted])
    return ScoredRows.from_contributions(wanted, contributions, live.similarity.ideal(weights))


def _counts_at(positions: Rows, counts: Floats, wanted: Rows) -> Floats:
    """The counts of the wanted positions; 0 where a posting has none."""
    if not len(positions):
        return np.zeros(len(wanted))
    at = np.searchsorted(positions, wanted)
    result: NDArray[np.float64] = counts.take(at, mode="clip") * (positions.take(at, mode="clip") == wanted)
    return result
