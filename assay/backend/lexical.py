"""BM25 over a generation and its tail, exact: the same scores as a clean rebuild, whatever was deleted since.

    score(q, d) = Σ_t idf(t) · tf·(k1+1) / (tf + k1·(1 − b + b·dl/avgdl))     k1 = 1.2, b = 0.75

with N, df and avgdl over the live chunks of the snapshot. tantivy proposes in large stores; its order is
believed only when a bound proves that nobody outside the proposal can belong to the best k. Otherwise more is
fetched, and in the end the postings are scanned: slower, never wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from assay.index.tail import Tail
from assay.index.words import K1, Words, damping, idf, saturation
from assay.types import Floats, Rows
from assay.where import Mask

MOST_TERMS = 256
"""A query longer than this keeps its rarest terms."""
_SCAN = 10_000
"""Postings up to which scanning beats asking tantivy."""
_FEW_ROWS = 5_000
_MOST_FETCHES = 4


@dataclass(frozen=True)
class LexicalView:
    """The words of one snapshot: a generation's index, the first rows of a tail, and who is dead."""

    words: Words | None
    tail: Tail
    tail_size: int
    dead: Rows  # rows of the generation, ascending
    tail_live: Mask

    @cached_property
    def size(self) -> int:
        """Live chunks."""
        return (self.words.size if self.words else 0) - len(self.dead) + int(np.count_nonzero(self.tail_live))

    @cached_property
    def tail_lengths(self) -> Floats:
        return np.array(self.tail.lengths[: self.tail_size], np.float64)

    @cached_property
    def average(self) -> float:
        """Mean length of a live chunk in terms; 1 for an empty store."""
        total = float(self.tail_lengths[self.tail_live].sum())
        if self.words:
            total += self.words.total - float(self.words.lengths[self.dead].sum(dtype=np.int64))
        return total / self.size if self.size and total else 1.0

    def holding(self, term: str) -> int:
        """How many live chunks hold a term."""
        count = 0
        if self.tail_size:
            places, _ = self.tail.postings(term, self.tail_size)
            count = int(np.count_nonzero(self.tail_live[places]))
        if self.words:
            number = self.words.term(term)
            count += self.words.frequency(number)
            if len(self.dead):
                count -= int(np.count_nonzero(self.words.counts(number, self.dead.astype(np.int32))))
        return count

    def weights(self, terms: Sequence[str]) -> Floats:
        """idf of each term in this snapshot."""
        return idf(np.array([self.holding(t) for t in terms], np.float64), float(self.size))


@dataclass(frozen=True)
class Scored:
    """Rows with what each term gave them; `ideal` is the score of a chunk with every term at its best."""

    rows: Rows
    terms: tuple[str, ...]
    given: tuple[Floats, ...]
    ideal: float

    @cached_property
    def score(self) -> Floats:
        total = np.zeros(len(self.rows))
        for column in self.given:
            total = total + column
        return total


def search(
    view: LexicalView, terms: Sequence[str], k: int, eligible: NDArray[np.bool_] | None, tail_eligible: Mask
) -> Scored:
    """Every live, eligible row that can be among the best k (ties at the end included), scored exactly."""
    weights = view.weights(terms)
    # Terms in no live chunk are charged the largest idf: a query of unknown words is far from its ideal.
    ideal = float(weights.sum() * (K1 + 1.0))
    rows, given = np.empty(0, np.int64), [np.empty(0)] * len(terms)
    if view.words:
        rows, given = _in_generation(view, view.words, terms, weights, k, eligible)
    if view.tail_size:
        start = view.words.size if view.words else 0
        fresh = _tail_rows(view, terms, tail_eligible)
        rows = np.concatenate([rows, fresh + start])
        given = [
            np.concatenate([old, new]) for old, new in zip(given, _tail_given(view, terms, weights, fresh), strict=True)
        ]
    scored = Scored(rows, tuple(terms), tuple(given), ideal)
    hit = scored.score > 0.0  # idf is never 0, so a row without any of the terms is the only one at 0
    return scored if hit.all() else Scored(rows[hit], scored.terms, tuple(c[hit] for c in given), ideal)


def _given(view: LexicalView, words: Words, terms: Sequence[str], weights: Floats, rows: Rows) -> list[Floats]:
    """Each term's contribution to each row of the generation."""
    damped = damping(words.lengths[rows].astype(np.float64), view.average)
    narrow = rows.astype(np.int32)
    return [
        weight * saturation(words.counts(words.term(term), narrow), damped)
        for term, weight in zip(terms, weights, strict=True)
    ]


def _tail_given(view: LexicalView, terms: Sequence[str], weights: Floats, places: Rows) -> list[Floats]:
    """Each term's contribution to each of these positions of the tail, which ascend."""
    columns = []
    damped = damping(view.tail_lengths[places], view.average)
    for term, weight in zip(terms, weights, strict=True):
        holding, found = view.tail.postings(term, view.tail_size)
        counts = np.zeros(view.tail_size)
        counts[holding] = found
        columns.append(weight * saturation(counts[places], damped))
    return columns


def _tail_rows(view: LexicalView, terms: Sequence[str], eligible: Mask) -> Rows:
    found = np.zeros(view.tail_size, np.bool_)
    for term in terms:
        found[view.tail.postings(term, view.tail_size)[0]] = True
    return np.flatnonzero(found & eligible)


def _in_generation(
    view: LexicalView, words: Words, terms: Sequence[str], weights: Floats, k: int, eligible: Mask | None
) -> tuple[Rows, list[Floats]]:
    """The generation's best k rows with all ties of the last, and what each term gave them."""
    numbers = [words.term(term) for term in terms]
    postings = sum(words.frequency(n) for n in numbers)
    share = 1.0
    if not postings:
        rows = np.empty(0, np.int64)
    elif eligible is not None and (allowed := int(np.count_nonzero(eligible))) <= _FEW_ROWS:
        rows = np.flatnonzero(eligible)
    else:
        share = 1.0 if eligible is None else allowed / words.size
        if words.proposes and postings > _SCAN and share > 0.2:
            proven = _proposed(view, words, terms, weights, k, eligible, share)
            if proven is not None:
                return proven
        rows = _scanned(view, words, numbers, weights, k, eligible)
    return rows, _given(view, words, terms, weights, rows)


def _scanned(
    view: LexicalView, words: Words, numbers: Sequence[int], weights: Floats, k: int, eligible: Mask | None
) -> Rows:
    """Score every row of every posting list; keep the best k with all ties of the last."""
    total = np.zeros(words.size)
    touched = []
    for number, weight in zip(numbers, weights, strict=True):
        rows, counts = words.postings(number)
        if eligible is not None:
            keep = eligible[rows]
            rows, counts = rows[keep], counts[keep]
        damped = damping(words.lengths[rows].astype(np.float64), view.average)
        total[rows] += weight * saturation(counts.astype(np.float64), damped)
        touched.append(rows)
    found = np.concatenate(touched).astype(np.int64)
    found.sort()
    found = found[np.concatenate([[True], found[1:] != found[:-1]])] if len(found) else found
    # Terms were added in the same order as in the final score, so equal rows are equal here too.
    return found[_best_with_ties(total[found], k)]


def _best_with_ties(scores: Floats, k: int) -> NDArray[np.bool_]:
    """Which are the best k, every tie of the last of them included."""
    if len(scores) <= k:
        return np.ones(len(scores), np.bool_)
    best: NDArray[np.bool_] = scores >= np.partition(scores, len(scores) - k)[len(scores) - k]
    return best


def _proposed(
    view: LexicalView,
    words: Words,
    terms: Sequence[str],
    weights: Floats,
    k: int,
    eligible: Mask | None,
    share: float,
) -> tuple[Rows, list[Floats]] | None:
    """tantivy's candidates, once proven to contain the best k; None when they could not be proven."""
    known = [i for i, term in enumerate(terms) if words.term(term) >= 0]
    stale = idf(np.array([words.frequency(words.term(terms[i])) for i in known], np.float64), float(words.size))
    # tantivy shortens lengths (they are stored in one byte), so with equal statistics its scores are never below
    # ours; changed statistics can raise ours by at most this factor.
    lift = float(np.max(weights[known] / stale)) * max(1.0, view.average / (words.total / words.size)) * (1.0 + 1e-5)
    fetch = int(2 * k / share) + len(view.dead)
    for _ in range(_MOST_FETCHES):
        found, theirs = words.propose([terms[i] for i in known], fetch)
        rows = np.sort(found if eligible is None else found[eligible[found]])
        given = _given(view, words, terms, weights, rows)
        total = np.zeros(len(rows))
        for column in given:
            total = total + column
        best = _best_with_ties(total, k)
        whole = len(found) < fetch  # tantivy had no more to give
        if whole or (len(rows) >= k and float(total[best].min()) > lift * float(theirs[-1])):
            return rows[best], [column[best] for column in given]
        fetch *= 2
    return None
