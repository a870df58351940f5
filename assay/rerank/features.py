"""Features of the learned ranker: one column per feature.

All are computed from the query's terms, the candidates' terms and their vectors, so a candidate that only one leg
found has lexical and dense features. tf: how often a chunk holds a term; dl: how many terms it has; mean(dl) is over
the candidates; Σ runs over the query's terms t.

    new_words   = Σ w(t) · sat(t) / Σ w(t)      sat(t) = tf / (tf + 0.9 · (0.6 + 0.4 · dl / mean(dl)))
                  w(t) = idf(t) · (rare(t) / max rare)^¼         rare(t) = log(1 + (n − m + 0.5) / (m + 0.5)),
                  m of the n ≤ 100 candidates nearest by cosine hold t: a term that is rare among the dense
                  neighbours counts for more
    cosine      = query · chunk
    cover       = Σ idf(t held) / Σ idf(t)
    near        = share (by idf) of the query's adjacent term pairs that occur within 5 terms of each other
    adjacent    = share (by idf) of the query's adjacent term pairs that occur adjacent, in the same order
    near_words, near_cosine = mean of new_words, of cosine, over the 10 nearest candidates of other documents
    kin_words, kin_cosine   = best new_words, best cosine, of the other candidates of the same document, at least the
                  mean over all candidates; that mean for a document with one candidate

Two more are computed from the standard scores z of these columns (`compute_standard_features`), and need nothing else:

    both        = z(new_words) · z(cosine): below 0, it favours a candidate that one measure puts far ahead
    long_query  = z(new_words) · ln(terms / 6): how much more the words count when the query has more terms than six
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.engine.term_hits import TermHits
from assay.types import Floats, Rows, Vectors
from assay.util.matrix_product import multiply_by_transpose

NAMES = (
    "new_words",
    "cosine",
    "cover",
    "near",
    "adjacent",
    "near_words",
    "near_cosine",
    "kin_words",
    "kin_cosine",
)
"""The features that are read from the candidates."""
INTERACTIONS = ("both", "long_query")
FEATURES = (*NAMES, *INTERACTIONS)
K1, B, RARITY = 0.9, 0.4, 0.25
NEAREST, NEAREST_BY_COSINE, WINDOW = 10, 100, 5
USUAL_TERMS = 6.0
_STEPS = 127.0


@dataclass(frozen=True, slots=True, eq=False)
class CandidatePool:
    """A query's terms and the candidates as arrays.

    idf        of each query term                     pairs     numbers of terms that are adjacent in the query
    hits       every occurrence of a query term in a candidate
    cosine     with the query; 0 without a vector     vectors   unit vectors of the candidates
    document   a number per candidate, equal for chunks of one document
    """

    idf: Floats
    pairs: Sequence[tuple[int, int]]
    hits: TermHits
    cosine: Floats
    vectors: Vectors
    document: Rows


def compute_features(pool: CandidatePool, names: Sequence[str] = NAMES) -> Floats:
    """Compute float64[candidates, features], in the order of `names`; what nobody asks for is not computed."""
    counts = _count_terms(pool)
    lengths = np.maximum(pool.hits.lengths, 1).astype(np.float64)
    saturated = counts / (counts + K1 * (1.0 - B + B * lengths / lengths.mean())[:, None])
    present = (counts > 0.0).astype(np.float64)
    words = _weighted_share(saturated, pool.idf * _relative_rarity(present, pool.cosine) ** RARITY)
    features = {"new_words": words, "cosine": pool.cosine, "cover": _weighted_share(present, pool.idf)}
    if {"near", "adjacent"} & set(names):
        features["near"], features["adjacent"] = _proximity(pool)
    if {"near_words", "near_cosine"} & set(names):
        features["near_words"], features["near_cosine"] = _mean_of_neighbours(pool, (words, pool.cosine))
    if {"kin_words", "kin_cosine"} & set(names):
        features["kin_words"] = _best_of_document(words, pool.document)
        features["kin_cosine"] = _best_of_document(pool.cosine, pool.document)
    return np.stack([features[name] for name in names], axis=1)


def compute_standard_features(pool: CandidatePool, names: Sequence[str] = FEATURES) -> Floats:
    """Compute float64[candidates, features] as standard scores over the candidates, interactions included."""
    needed = {"new_words", "cosine"} if set(INTERACTIONS) & set(names) else set()
    read = [name for name in NAMES if name in names or name in needed]
    columns = dict(zip(read, standardise(compute_features(pool, read)).T, strict=True))
    if "both" in names:
        columns["both"] = columns["new_words"] * columns["cosine"]
    if "long_query" in names:
        columns["long_query"] = columns["new_words"] * math.log(max(len(pool.idf), 1) / USUAL_TERMS)
    return np.stack([columns[name] for name in names], axis=1)


def standardise(values: Floats) -> Floats:
    """Columns as standard scores; 0 for a column whose values are all equal."""
    spread = values.max(axis=0) - values.min(axis=0)
    deviation = np.where(spread > 0.0, values.std(axis=0), 1.0)
    return np.where(spread > 0.0, (values - values.mean(axis=0)) / np.where(deviation > 0.0, deviation, 1.0), 0.0)


def _count_terms(pool: CandidatePool) -> Floats:
    shape = len(pool.cosine), len(pool.idf)
    places = pool.hits.chunk * shape[1] + pool.hits.term
    return np.bincount(places, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)


def _weighted_share(values: Floats, weights: Floats) -> Floats:
    """Σ weight · value / Σ weight per candidate; 0 when all weights are 0."""
    total = float(weights.sum())
    if total <= 0.0:
        return np.zeros(len(values))
    return np.asarray((values * weights).sum(axis=1) / total)


def _relative_rarity(present: Floats, cosine: Floats) -> Floats:
    """How rare each term is among the candidates nearest by cosine, 1 for the rarest."""
    if not present.shape[1]:
        return np.empty(0)
    size = min(NEAREST_BY_COSINE, len(cosine))
    cut = np.partition(cosine, len(cosine) - size)[len(cosine) - size]
    close = present[cosine >= cut]
    having = close.sum(axis=0)
    rare = np.log(1.0 + (len(close) - having + 0.5) / (having + 0.5))
    return np.asarray(rare / rare.max())


def _proximity(pool: CandidatePool) -> tuple[Floats, Floats]:
    """Shares of the query's adjacent pairs found within WINDOW terms, and found adjacent in their order."""
    size, hits = len(pool.cosine), pool.hits
    if not pool.pairs:
        return np.zeros(size), np.zeros(size)
    weights = np.array([pool.idf[one] + pool.idf[other] for one, other in pool.pairs])
    terms = len(pool.idf)
    wanted = np.array([one * terms + other for one, other in pool.pairs])  # ascending, as the pairs are
    close, in_order = np.zeros((2, size, len(wanted)), np.bool_)

    def mark(found: NDArray[np.bool_], chunk: Rows, one: Rows, other: Rows) -> None:
        key = one * terms + other
        place = np.minimum(np.searchsorted(wanted, key), len(wanted) - 1)
        is_wanted = wanted[place] == key
        found[chunk[is_wanted], place[is_wanted]] = True

    # Positions ascend within a chunk, so a partner within the window is one of the next WINDOW hits.
    for step in range(1, min(WINDOW, len(hits.chunk) - 1) + 1):
        gap = hits.position[step:] - hits.position[:-step]
        same = hits.chunk[step:] == hits.chunk[:-step]
        near = np.flatnonzero(same & (gap <= WINDOW))
        chunk, one, other = hits.chunk[near], hits.term[near], hits.term[near + step]
        mark(close, chunk, one, other)
        mark(close, chunk, other, one)
        if step == 1:
            next_to = gap[near] == 1
            mark(in_order, chunk[next_to], one[next_to], other[next_to])
    total = float(weights.sum())
    return (weights * close).sum(axis=1) / total, (weights * in_order).sum(axis=1) / total


def _mean_of_neighbours(pool: CandidatePool, values: Sequence[Floats]) -> list[Floats]:
    """Means of values over the nearest candidates of other documents (ties with the last included), 0 without any."""
    # On an integer grid every product and sum is exact, so the number of threads cannot change the result.
    grid = np.rint(pool.vectors * _STEPS).astype(np.float32)
    cosine = multiply_by_transpose(grid)
    cosine[pool.document[:, None] == pool.document[None, :]] = -np.inf
    size = min(NEAREST, len(cosine))
    cut = np.partition(cosine, len(cosine) - size, axis=1)[:, len(cosine) - size]
    chosen = (cosine >= cut[:, None]) & np.isfinite(cosine)
    counts = np.maximum(chosen.sum(axis=1), 1)
    return [np.where(chosen, value[None, :], 0.0).sum(axis=1) / counts for value in values]


def _best_of_document(value: Floats, document: Rows) -> Floats:
    """The best value of the document's other chunks, at least the mean of the pool."""
    order = np.lexsort((-value, document))
    ordered, best_first = document[order], value[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    sizes = np.diff(starts, append=len(order))
    second = np.where(sizes > 1, best_first[np.minimum(starts + 1, len(order) - 1)], -np.inf)
    other = np.empty(len(value))
    other[order] = np.repeat(best_first[starts], sizes)
    other[order[starts]] = second
    return np.asarray(np.maximum(other, value.mean()))
