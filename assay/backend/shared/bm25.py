"""BM25 over a generation and its tail, exact: the same scores as a clean rebuild, whatever was deleted since.

    score(q, d) = Σ_t idf(t) · tf·(k1+1) / (tf + k1·(1 − b + b·dl/avgdl))     k1 = 1.2, b = 0.75

with N, df and avgdl over the live chunks of the snapshot. tantivy proposes in large stores; its order is
believed only when a bound proves that nobody outside the proposal can belong to the best k. Otherwise more is
fetched, and in the end the postings are scanned: slower, never wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.index.tail import Tail
from assay.index.words import K1, Words, damping, idf, saturation
from assay.types import Floats, Rows
from assay.where import Mask

MOST_TERMS = 256
"""A query longer than this keeps its rarest terms."""
_SCAN = 6_000
"""Postings up to which scanning beats asking tantivy."""
_HEAVY, _HEAVY_SHARE = 100_000, 0.2
"""Rows, and the share of all rows, above which a term is too frequent to be asked for at first."""
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

    def weights(self, terms: Sequence[str]) -> Floats:
        """idf of each term in this snapshot."""
        return self.weighed(terms)[1]

    def weighed(self, terms: Sequence[str]) -> tuple[list[int], Floats]:
        """Each term's number in the generation (-1: not there) and its idf in this snapshot."""
        numbers = [self.words.term(term) for term in terms] if self.words else [-1] * len(terms)
        holding = [self.words.frequency(number) for number in numbers] if self.words else [0] * len(terms)
        if self.tail_size or len(self.dead):
            holding = [h + self._since(t, n) for t, n, h in zip(terms, numbers, holding, strict=True)]
        return numbers, idf(np.array(holding, np.float64), float(self.size))

    def _since(self, term: str, number: int) -> int:
        """How many more (or fewer) live chunks hold a term now than when the generation was made."""
        count = 0
        if self.tail_size:
            places, _ = self.tail.postings(term, self.tail_size)
            count = int(np.count_nonzero(self.tail_live[places]))
        if self.words and len(self.dead):
            count -= int(np.count_nonzero(self.words.counts([number], self.dead.astype(np.int32))))
        return count

    @cached_property
    def unchanged(self) -> bool:
        """Is this just the generation, nothing added and nothing dead?"""
        return not self.tail_size and not len(self.dead)


@dataclass(frozen=True, slots=True)
class ScoredRows:
    """Rows with what each term gave them (one line per term) and the sum of that, added term by term.

    `ideal` is the score of a chunk with every term at its best.
    """

    rows: Rows
    given: Floats
    score: Floats
    ideal: float

    @staticmethod
    def of(rows: Rows, given: Floats, ideal: float) -> ScoredRows:
        total = np.zeros(len(rows))
        for line in given:
            total += line
        return ScoredRows(rows, given, total, ideal)

    def take(self, index: NDArray[Any]) -> ScoredRows:
        return ScoredRows(self.rows[index], self.given[:, index], self.score[index], self.ideal)


def search(view: LexicalView, terms: Sequence[str], k: int, eligible: Mask | None, tail_eligible: Mask) -> ScoredRows:
    """Every live, eligible row that can be among the best k (ties at the end included), scored exactly."""
    numbers, weights = view.weighed(terms)
    # Terms in no live chunk are charged the largest idf: a query of unknown words is far from its ideal.
    ask = _TermLookup(terms, numbers, weights, float(weights.sum() * (K1 + 1.0)), k)
    found = ScoredRows.of(np.empty(0, np.int64), np.empty((len(terms), 0)), ask.ideal)
    if view.words:
        found = _in_generation(view, view.words, ask, eligible)
    if view.tail_size:
        start = view.words.size if view.words else 0
        fresh = _tail_rows(view, terms, tail_eligible)
        given = np.concatenate([found.given, _tail_given(view, terms, weights, fresh)], axis=1)
        found = ScoredRows.of(np.concatenate([found.rows, fresh + start]), given, ask.ideal)
    hit = found.score > 0.0  # idf is never 0, so a row without any of the terms is the only one at 0
    return found if hit.all() else found.take(hit)


def rate(view: LexicalView, terms: Sequence[str], rows: Rows) -> ScoredRows:
    """These rows, in their order, with what each term gives them, be it nothing."""
    numbers, weights = view.weighed(terms)
    ask = _TermLookup(terms, numbers, weights, float(weights.sum() * (K1 + 1.0)), len(rows))
    if view.words and not view.tail_size:
        return _scored(view, view.words, ask, rows)
    start = view.words.size if view.words else 0
    old, given = rows < start, np.zeros((len(terms), len(rows)))
    if view.words:
        given[:, old] = _scored(view, view.words, ask, rows[old]).given
    given[:, ~old] = _tail_given(view, terms, weights, rows[~old] - start)
    return ScoredRows.of(rows, given, ask.ideal)


@dataclass(frozen=True, slots=True)
class _TermLookup:
    """The terms of a query with their numbers in the generation and their weights, its ideal score, and how many."""

    terms: Sequence[str]
    numbers: Sequence[int]
    weights: Floats
    ideal: float
    k: int


def _scored(view: LexicalView, words: Words, ask: _TermLookup, rows: Rows) -> ScoredRows:
    """These rows of the generation with each term's contribution to them."""
    damped = damping(words.lengths[rows].astype(np.float64), view.average)
    counts = words.counts(ask.numbers, rows.astype(np.int32)).astype(np.float64)
    return ScoredRows.of(rows, ask.weights[:, None] * saturation(counts, damped), ask.ideal)


def _tail_given(view: LexicalView, terms: Sequence[str], weights: Floats, places: Rows) -> Floats:
    """Each term's contribution to each of these positions of the tail."""
    counts = np.zeros((len(terms), view.tail_size))
    for line, term in enumerate(terms):
        holding, found = view.tail.postings(term, view.tail_size)
        counts[line, holding] = found
    return weights[:, None] * saturation(counts[:, places], damping(view.tail_lengths[places], view.average))


def _tail_rows(view: LexicalView, terms: Sequence[str], eligible: Mask) -> Rows:
    found = np.zeros(view.tail_size, np.bool_)
    for term in terms:
        found[view.tail.postings(term, view.tail_size)[0]] = True
    return np.flatnonzero(found & eligible)


def _in_generation(view: LexicalView, words: Words, ask: _TermLookup, eligible: Mask | None) -> ScoredRows:
    """The generation's best k rows with all ties of the last, and what each term gave them."""
    postings = sum([words.frequency(n) for n in ask.numbers])
    if not postings:
        rows = np.empty(0, np.int64)
    elif eligible is not None and (allowed := int(np.count_nonzero(eligible))) <= _FEW_ROWS:
        rows = np.flatnonzero(eligible)
    else:
        share = 1.0 if eligible is None else allowed / words.size
        if words.proposes and postings > _SCAN and share > 0.2:
            proven = _proposed(view, words, ask, eligible, share)
            if proven is not None:
                return proven
        rows = _scanned(view, words, ask, eligible)
    return _scored(view, words, ask, rows)


def _scanned(view: LexicalView, words: Words, ask: _TermLookup, eligible: Mask | None) -> Rows:
    """Score every row of every posting list; keep the best k with all ties of the last."""
    lists = [words.postings(number) for number in ask.numbers]
    if eligible is not None:
        kept = [eligible[rows] for rows, _ in lists]
        lists = [(rows[keep], counts[keep]) for (rows, counts), keep in zip(lists, kept, strict=True)]
    every = np.concatenate([rows for rows, _ in lists])
    counts = np.concatenate([found for _, found in lists]).astype(np.float64)
    damped = damping(words.lengths[every].astype(np.float64), view.average)
    given = np.repeat(ask.weights, [len(rows) for rows, _ in lists]) * saturation(counts, damped)
    scores, start = np.empty(len(every)), 0
    with words.blank() as total:
        # Terms are added in the same order as in the final score, so equal rows are equal here too.
        for rows, _ in lists:
            total[rows] += given[start : start + len(rows)]
            start += len(rows)
        start = 0
        for rows, _ in lists:
            scores[start : start + len(rows)] = total[rows]
            total[rows] = 0.0  # its first list speaks for a row; and so the column is blank again
            start += len(rows)
    best = _best_with_ties(scores, ask.k) & (scores > 0.0)
    return np.sort(every[best]).astype(np.int64)


def _best_with_ties(scores: Floats, k: int) -> NDArray[np.bool_]:
    """Which are the best k, every tie of the last of them included."""
    if len(scores) <= k:
        return np.ones(len(scores), np.bool_)
    best: NDArray[np.bool_] = scores >= np.partition(scores, len(scores) - k)[len(scores) - k]
    return best


def _proposed(
    view: LexicalView, words: Words, ask: _TermLookup, eligible: Mask | None, share: float
) -> ScoredRows | None:
    """tantivy's candidates, once proven to contain the best k; None when they could not be proven."""
    lift = _lift(view, words, ask)
    for terms, wanted, unasked in _attempts(words, ask):
        fetch = int(wanted / share) + len(view.dead)
        found, theirs = words.propose(terms, fetch)
        rows = np.sort(found if eligible is None else found[eligible[found]])
        scored = _scored(view, words, ask, rows)
        best = _best_with_ties(scored.score, ask.k)
        whole = len(found) < fetch  # tantivy had no more to give
        others = unasked + (0.0 if whole else lift * float(theirs[-1]))  # nobody else can score more than this
        if (whole and not unasked) or (len(rows) >= ask.k and float(scored.score[best].min()) > others):
            return scored.take(best)
    return None


def _attempts(words: Words, ask: _TermLookup) -> Iterator[tuple[list[str], int, float]]:
    """What tantivy is asked, one after the other: terms, how many rows, and what the other terms could give a row.

    A term that a large part of a large store holds costs tantivy more than all others and moves hardly anybody: it is
    left out at first, and counted for its most in the proof.
    """
    known = [i for i, number in enumerate(ask.numbers) if number >= 0]
    heavy = max(_HEAVY, int(_HEAVY_SHARE * words.size))
    light = [i for i in known if words.frequency(ask.numbers[i]) <= heavy]
    if light and len(light) < len(known):
        left_out = sum([float(ask.weights[i]) for i in known if i not in light])
        yield [ask.terms[i] for i in light], 3 * ask.k, left_out * (K1 + 1.0)
    for attempt in range(_MOST_FETCHES):
        yield [ask.terms[i] for i in known], (ask.k + ask.k // 5) * 2**attempt, 0.0


def _lift(view: LexicalView, words: Words, ask: _TermLookup) -> float:
    """By how much a score of ours can exceed tantivy's.

    tantivy shortens lengths (they are stored in one byte), so with equal statistics its scores are never below ours;
    changed statistics can raise ours by at most this factor.
    """
    room = 1.0 + 1e-5
    if view.unchanged:
        return room
    known = [i for i, number in enumerate(ask.numbers) if number >= 0]
    stale = idf(np.array([words.frequency(ask.numbers[i]) for i in known], np.float64), float(words.size))
    return float((ask.weights[known] / stale).max()) * max(1.0, view.average / (words.total / words.size)) * room
