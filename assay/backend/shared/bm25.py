"""BM25 over a generation and its tail, exact: the same scores as a clean rebuild, whatever was deleted since.

    score(q, d) = Σ_t boost(t) · idf(t) · tf·(k1+1) / (tf + k1·(1 − b + b·dl/avgdl))

with N, df and avgdl over the live chunks of the snapshot, and boosts from query_terms.py. In large stores tantivy
proposes candidates; they are accepted only when a bound proves that no other row can be among the best k. Otherwise
more are fetched, and in the end the postings are scanned: slower, never wrong.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.backend.shared.query_terms import QueryTerms
from assay.index.similarity import K1, Bm25Similarity, idf
from assay.index.tail import Tail
from assay.index.words import WordIndex
from assay.types import Floats, Rows
from assay.where import Mask

_SCAN = 6_000
"""Postings up to which scanning beats asking tantivy."""
_HEAVY, _HEAVY_SHARE = 100_000, 0.2
"""Rows, and the share of all rows, above which a term is too frequent for tantivy's first query."""
_FEW_ROWS = 5_000
_MOST_FETCHES = 4
_ROUNDING = 1.0 + 1e-5
"""More than rounding, ours in float64 and tantivy's in float32, can move a score."""
_USELESS_RATIO = 8.0
"""A bound so far above tantivy's own scores proves nothing: the postings are scanned at once."""


@dataclass(frozen=True)
class LexicalView:
    """The word statistics of one snapshot: a generation's index, the first rows of a tail, and the dead rows."""

    words: WordIndex | None
    tail: Tail
    tail_size: int
    dead: Rows  # rows of the generation, ascending
    tail_live: Mask
    similarity: Bm25Similarity

    @cached_property
    def size(self) -> int:
        """Live chunks."""
        return (self.words.size if self.words else 0) - len(self.dead) + int(np.count_nonzero(self.tail_live))

    @cached_property
    def tail_lengths(self) -> Floats:
        return np.array(self.tail.lengths[: self.tail_size], np.float64)

    def tail_postings(self, term: str) -> tuple[NDArray[np.int64], Floats]:
        """The positions of the tail that hold a term, ascending, with its counts; each term is read once."""
        known = self._read_postings.get(term)
        if known is None:
            known = self._read_postings[term] = self.tail.postings(term, self.tail_size)
        return known

    @cached_property
    def _read_postings(self) -> dict[str, tuple[NDArray[np.int64], Floats]]:
        return {}

    @cached_property
    def _changes(self) -> dict[str, int]:
        """Term → `_frequency_change`, for the terms that were asked for."""
        return {}

    @cached_property
    def tail_damping(self) -> Floats:
        return self.similarity.damping(self.tail_lengths, self.average)

    @cached_property
    def average(self) -> float:
        """Mean length of a live chunk in terms; 1 for an empty store."""
        total = float(self.tail_lengths[self.tail_live].sum())
        if self.words:
            total += self.words.total - float(self.words.lengths[self.dead].sum(dtype=np.int64))
        return total / self.size if self.size and total else 1.0

    def idf(self, terms: Sequence[str]) -> Floats:
        """idf of each term in this snapshot."""
        return self.term_numbers_and_idf(terms)[1]

    def term_numbers_and_idf(self, terms: Sequence[str]) -> tuple[list[int], Floats]:
        """Each term's number in the generation (-1: not there) and its idf in this snapshot."""
        numbers = [self.words.term(term) for term in terms] if self.words else [-1] * len(terms)
        holding = [self.words.frequency(number) for number in numbers] if self.words else [0] * len(terms)
        if self.tail_size or len(self.dead):
            holding = [h + self._frequency_change(t, n) for t, n, h in zip(terms, numbers, holding, strict=True)]
        return numbers, idf(np.array(holding, np.float64), float(self.size))

    def _frequency_change(self, term: str, number: int) -> int:
        """How many more (or fewer) live chunks hold a term now than when the generation was made."""
        known = self._changes.get(term)
        if known is None:
            known = self._changes[term] = self._count_change(term, number)
        return known

    def _count_change(self, term: str, number: int) -> int:
        count = 0
        if self.tail_size:
            positions, _ = self.tail_postings(term)
            count = int(np.count_nonzero(self.tail_live[positions]))
        if self.words and len(self.dead):
            if len(self.dead) < self.words.frequency(number):
                count -= int(np.count_nonzero(self.words.counts([number], self.dead.astype(np.int32))))
            else:
                count -= int(np.count_nonzero(self._is_dead[self.words.postings(number)[0]]))
        return count

    def rows_of(self, term: str) -> Rows:
        """The live rows that hold a term, ascending."""
        old = np.empty(0, np.int64)
        if self.words:
            old = self.words.postings(self.words.term(term))[0].astype(np.int64)
            old = old[~np.isin(old, self.dead)] if len(self.dead) else old
        if not self.tail_size:
            return old
        positions = self.tail_postings(term)[0]
        new = np.sort(positions[self.tail_live[positions]]) + (self.words.size if self.words else 0)
        return np.concatenate([old, new])

    @cached_property
    def _is_dead(self) -> Mask:
        """Which rows of the generation are dead."""
        mask = np.zeros(self.words.size if self.words else 0, np.bool_)
        mask[self.dead] = True
        return mask

    @cached_property
    def unchanged(self) -> bool:
        """Is this just the generation, nothing added and nothing dead?"""
        return not self.tail_size and not len(self.dead)


@dataclass(frozen=True, slots=True)
class ScoredRows:
    """Rows with each term's contribution to their scores (one line per term) and the sum, added term by term.

    `ideal` is the score of a chunk with every term at its best.
    """

    rows: Rows
    contributions: Floats
    score: Floats
    ideal: float

    @staticmethod
    def from_contributions(rows: Rows, contributions: Floats, ideal: float) -> ScoredRows:
        total = np.zeros(len(rows))
        for line in contributions:
            total += line
        return ScoredRows(rows, contributions, total, ideal)

    def take(self, index: NDArray[Any]) -> ScoredRows:
        return ScoredRows(self.rows[index], self.contributions[:, index], self.score[index], self.ideal)


def search(view: LexicalView, query: QueryTerms, k: int, eligible: Mask | None, tail_eligible: Mask) -> ScoredRows:
    """Every live, eligible row that can be among the best k (ties at the end included), scored exactly."""
    terms, weighted = query.terms, _WeightedTerms.read(view, query, k)
    scored = ScoredRows.from_contributions(np.empty(0, np.int64), np.empty((len(terms), 0)), weighted.ideal)
    if view.words:
        scored = _search_generation(view, view.words, weighted, eligible)
    if view.tail_size:
        start = view.words.size if view.words else 0
        tail_rows = _find_best_of_tail(view, weighted, tail_eligible)
        contributions = np.concatenate([scored.contributions, _score_tail(view, weighted, tail_rows)], axis=1)
        scored = ScoredRows.from_contributions(
            np.concatenate([scored.rows, tail_rows + start]), contributions, weighted.ideal
        )
    hit = scored.score > 0.0  # idf is never 0, so only a row without any of the terms scores 0
    return scored if hit.all() else scored.take(hit)


def score_rows(view: LexicalView, query: QueryTerms, rows: Rows) -> ScoredRows:
    """Score these rows, in their order; 0 for one that holds none of the terms."""
    weighted = _WeightedTerms.read(view, query, len(rows))
    if view.words and not view.tail_size:
        return _score_generation(view, view.words, weighted, rows)
    start = view.words.size if view.words else 0
    old, contributions = rows < start, np.zeros((len(query.terms), len(rows)))
    if view.words:
        contributions[:, old] = _score_generation(view, view.words, weighted, rows[old]).contributions
    contributions[:, ~old] = _score_tail(view, weighted, rows[~old] - start)
    return ScoredRows.from_contributions(rows, contributions, weighted.ideal)


def score_groups(
    view: LexicalView, query: QueryTerms, terms: Sequence[Collection[str]], groups: Sequence[Rows]
) -> list[Floats]:
    """Score the rows of each group for its own terms, as far as the query has them, added in the query's order.

    The scores are those of `score_rows`, to the bit, but a term is only looked up in the rows of its groups.
    """
    weighted, start = _WeightedTerms.read(view, query, 0), view.words.size if view.words else 0
    lines = [[line for line, term in enumerate(query.terms) if term in held] for held in terms]
    pairs = [(line, group) for group, held in enumerate(lines) for line in held]
    sizes = [len(groups[group]) for _, group in pairs]
    rows = np.concatenate([np.empty(0, np.int64), *(groups[group] for _, group in pairs)])
    old = rows < start
    counts, lengths = np.zeros(len(rows)), np.zeros(len(rows))
    if view.words:
        numbers = [weighted.numbers[line] for line, _ in pairs]
        known = [groups[group] if not view.tail_size else groups[group][groups[group] < start] for _, group in pairs]
        counts[old] = view.words.counts_by_pair(numbers, known)
        lengths[old] = view.words.lengths[rows[old]]
    if view.tail_size:
        lengths[~old] = view.tail_lengths[rows[~old] - start]
        first = 0
        for (line, group), size in zip(pairs, sizes, strict=True):
            counts[first : first + size] += _count_in_tail(view, query.terms[line], groups[group] - start)
            first += size
    weights = np.repeat(weighted.weights[[line for line, _ in pairs]], sizes)
    gains = weights * view.similarity.saturation(counts, view.similarity.damping(lengths, view.average))
    scores, first = [np.zeros(len(group)) for group in groups], 0
    for (_, group), size in zip(pairs, sizes, strict=True):
        scores[group] += gains[first : first + size]
        first += size
    return scores


def _count_in_tail(view: LexicalView, term: str, positions: Rows) -> Floats:
    """How often these positions of the tail hold a term; 0 for negative ones."""
    holding, counts = view.tail_postings(term)
    column = np.zeros(view.tail_size)
    column[holding] = counts
    return np.where(positions >= 0, column[np.maximum(positions, 0)], 0.0)


def score_all(view: LexicalView, query: QueryTerms) -> tuple[Floats, float]:
    """The score of every row, generation and tail, dead ones too, and the best score a row could have."""
    weighted = _WeightedTerms.read(view, query, 0)
    start = view.words.size if view.words else 0
    scores = np.zeros(start + view.tail_size)
    for term, number, weight in zip(query.terms, weighted.numbers, weighted.weights.tolist(), strict=True):
        if view.words:
            rows, counts = view.words.postings(number)
            damped = view.similarity.damping(view.words.lengths[rows].astype(np.float64), view.average)
            scores[rows] += weight * view.similarity.saturation(counts.astype(np.float64), damped)
        if view.tail_size:
            positions, tail_counts = view.tail_postings(term)
            damped = view.similarity.damping(view.tail_lengths[positions], view.average)
            scores[positions + start] += weight * view.similarity.saturation(tail_counts, damped)
    return scores, weighted.ideal


@dataclass(frozen=True, slots=True)
class _WeightedTerms:
    """The terms of a query with their numbers in the generation, their boosts (how much a repeated word counts), their
    weights (idf · boost), its ideal score, and k."""

    terms: Sequence[str]
    numbers: Sequence[int]
    boosts: Floats
    weights: Floats
    ideal: float
    k: int

    @staticmethod
    def read(view: LexicalView, query: QueryTerms, k: int) -> _WeightedTerms:
        numbers, rarity = view.term_numbers_and_idf(query.terms)
        weights = rarity * query.boosts
        # Terms in no live chunk are charged the largest idf: a query of unknown words is far from its ideal.
        return _WeightedTerms(query.terms, numbers, query.boosts, weights, view.similarity.ideal(weights), k)


def _score_generation(view: LexicalView, words: WordIndex, query: _WeightedTerms, rows: Rows) -> ScoredRows:
    """These rows of the generation with each term's contribution to them."""
    damped = view.similarity.damping(words.lengths[rows].astype(np.float64), view.average)
    counts = words.counts(query.numbers, rows.astype(np.int32)).astype(np.float64)
    return ScoredRows.from_contributions(
        rows, query.weights[:, None] * view.similarity.saturation(counts, damped), query.ideal
    )


def _score_tail(view: LexicalView, query: _WeightedTerms, positions: Rows) -> Floats:
    """Each term's contribution to each of these positions of the tail."""
    counts = np.zeros((len(query.terms), len(positions)))
    for line, term in enumerate(query.terms):
        holding, term_counts = view.tail_postings(term)
        if len(holding):
            places = np.minimum(np.searchsorted(holding, positions), len(holding) - 1)
            counts[line] = np.where(holding[places] == positions, term_counts[places], 0.0)
    return query.weights[:, None] * view.similarity.saturation(counts, view.tail_damping[positions])


def _find_best_of_tail(view: LexicalView, query: _WeightedTerms, eligible: Mask) -> Rows:
    """The eligible positions of the tail that can be among the best k, ties included, ascending. Scores are added term
    by term, as in `ScoredRows`, so that they are equal to the last bit."""
    scores = np.zeros(view.tail_size)
    for term, weight in zip(query.terms, query.weights.tolist(), strict=True):
        holding, counts = view.tail_postings(term)
        scores[holding] += weight * view.similarity.saturation(counts, view.tail_damping[holding])
    positions = np.flatnonzero((scores > 0.0) & eligible)
    if len(positions) > query.k:
        found = scores[positions]
        positions = positions[found >= np.partition(found, -query.k)[-query.k]]
    return positions


def _search_generation(view: LexicalView, words: WordIndex, query: _WeightedTerms, eligible: Mask | None) -> ScoredRows:
    """The generation's best k rows with all ties of the last, and each term's contribution."""
    postings = sum([words.frequency(n) for n in query.numbers])
    if not postings:
        rows = np.empty(0, np.int64)
    elif eligible is not None and (allowed := int(np.count_nonzero(eligible))) <= _FEW_ROWS:
        rows = np.flatnonzero(eligible)
    else:
        share = 1.0 if eligible is None else allowed / words.size
        if words.proposes and postings > _SCAN and share > 0.2:
            proven = _search_tantivy(view, words, query, eligible, share)
            if proven is not None:
                return proven
        rows = _scan_postings(view, words, query, eligible)
    return _score_generation(view, words, query, rows)


def _scan_postings(view: LexicalView, words: WordIndex, query: _WeightedTerms, eligible: Mask | None) -> Rows:
    """Score every row of every posting list; keep the best k with all ties of the last."""
    lists = [words.postings(number) for number in query.numbers]
    if eligible is not None:
        masks = [eligible[rows] for rows, _ in lists]
        lists = [(rows[mask], counts[mask]) for (rows, counts), mask in zip(lists, masks, strict=True)]
    every = np.concatenate([rows for rows, _ in lists])
    counts = np.concatenate([term_counts for _, term_counts in lists]).astype(np.float64)
    damped = view.similarity.damping(words.lengths[every].astype(np.float64), view.average)
    weights = np.repeat(query.weights, [len(rows) for rows, _ in lists])
    gains = weights * view.similarity.saturation(counts, damped)
    scores, start = np.empty(len(every)), 0
    with words.borrow_zeros() as total:
        # Terms are added in the same order as in the final score, so equal rows are equal here too.
        for rows, _ in lists:
            total[rows] += gains[start : start + len(rows)]
            start += len(rows)
        start = 0
        for rows, _ in lists:
            scores[start : start + len(rows)] = total[rows]
            total[rows] = 0.0  # counted once, by its first list; and the column is blank again
            start += len(rows)
    best = _select_with_ties(scores, query.k) & (scores > 0.0)
    return np.sort(every[best]).astype(np.int64)


def _select_with_ties(scores: Floats, k: int) -> NDArray[np.bool_]:
    """Which are the best k, every tie of the last of them included."""
    if len(scores) <= k:
        return np.ones(len(scores), np.bool_)
    best: NDArray[np.bool_] = scores >= np.partition(scores, len(scores) - k)[len(scores) - k]
    return best


def _search_tantivy(
    view: LexicalView, words: WordIndex, query: _WeightedTerms, eligible: Mask | None, share: float
) -> ScoredRows | None:
    """tantivy's candidates, once proven to contain the best k; None when they could not be proven."""
    ratio = _bound_ratio(view, words, query)
    if ratio > _USELESS_RATIO:
        return None
    for asked, wanted, unasked in _plan_fetches(view, words, query):
        fetch = int(wanted / share) + min(len(view.dead), wanted)
        terms = [query.terms[i] for i in asked]
        proposed, tantivy_scores = words.propose(terms, query.boosts[asked], fetch)
        rows = np.sort(proposed if eligible is None else proposed[eligible[proposed]])
        scored = _score_generation(view, words, query, rows)
        best = _select_with_ties(scored.score, query.k)
        complete = len(proposed) < fetch  # tantivy has no more
        others = unasked + (0.0 if complete else ratio * float(tantivy_scores[-1]))  # no other row can score more
        if (complete and not unasked) or (len(rows) >= query.k and float(scored.score[best].min()) > others):
            return scored.take(best)
    return None


def _plan_fetches(view: LexicalView, words: WordIndex, query: _WeightedTerms) -> Iterator[tuple[list[int], int, float]]:
    """The queries to tantivy, in order: places of terms, number of rows, the most that the other terms could add.

    A term that a large part of a large store holds costs tantivy more than all others and changes few ranks: it is left
    out at first, and the proof counts it at its largest.
    """
    known = [i for i, number in enumerate(query.numbers) if number >= 0]
    heavy = max(_HEAVY, int(_HEAVY_SHARE * words.size))
    light = [i for i in known if words.frequency(query.numbers[i]) <= heavy]
    if light and len(light) < len(known):
        left_out = sum([float(query.weights[i]) for i in known if i not in light])
        yield light, 3 * query.k, left_out * view.similarity.largest_gain * _ROUNDING
    for attempt in range(_MOST_FETCHES):
        yield known, (query.k + query.k // 5) * 2**attempt, 0.0


def _bound_ratio(view: LexicalView, words: WordIndex, query: _WeightedTerms) -> float:
    """The largest factor by which a score of ours can exceed tantivy's.

    tantivy scores with k1 = 1.2 and b = 0.75 and shortens lengths (they are stored in one byte), so with equal
    statistics its scores are never below ours; changed statistics and other parameters can raise ours by at most this
    factor.
    """
    gain = _bound_saturation_ratio(view, words)
    if view.unchanged:
        return gain * _ROUNDING
    known = [i for i, number in enumerate(query.numbers) if number >= 0]
    stale = idf(np.array([words.frequency(query.numbers[i]) for i in known], np.float64), float(words.size))
    # Boosts multiply tantivy's scores as they do ours.
    return float((query.weights[known] / (stale * query.boosts[known])).max()) * gain * _ROUNDING


def _bound_saturation_ratio(view: LexicalView, words: WordIndex) -> float:
    """The largest factor by which our tf·(k1+1) / (tf + damping) can exceed tantivy's.

    tantivy's has k1 = 1.2, b = 0.75 and the generation's mean length. Where our damping is the smaller one the quotient
    falls as tf grows, so tf = 1 is the worst case; elsewhere it stays below (k1+1) / 2.2. In the length it is
    monotonic, so the shortest and the longest row are the worst cases.
    """
    average = words.total / words.size
    if not view.similarity.settings:
        return max(1.0, view.average / average)
    lengths = np.array([0.0, float(words.lengths.max())])
    quotients = (1.0 + Bm25Similarity().damping(lengths, average)) / (
        1.0 + view.similarity.damping(lengths, view.average)
    )
    return max(1.0, float(quotients.max())) * view.similarity.largest_gain / (K1 + 1.0)
