"""What a learned ranker sees of its candidates: one column per feature.

Everything is worked out from the query's terms, the candidates' terms and their vectors, so a candidate that only
one leg found has both scores. tf, dl: how often a chunk holds a term, and how many terms it has; mean(dl) is over
the candidates; Σ runs over the query's terms t.

    new_words   = Σ w(t) · sat(t) / Σ w(t)      sat(t) = tf / (tf + 0.9 · (0.6 + 0.4 · dl / mean(dl)))
                  w(t) = idf(t) · (rare(t) / max rare)^¼         rare(t) = log(1 + (n − m + 0.5) / (m + 0.5)),
                  m of the n ≤ 100 candidates nearest by cosine hold t: a word that meaning alone would not have
                  brought along counts for more
    cosine      = query · chunk
    cover       = Σ idf(t held) / Σ idf(t)
    near        = share (by idf) of the query's neighbouring terms that stand within 5 terms of each other
    adjacent    = share (by idf) of the query's neighbouring terms that stand side by side, in their order
    near_words, near_cosine = mean of new_words, of cosine, over the 10 nearest candidates of other documents
    kin_words, kin_cosine   = best new_words, best cosine, of the other candidates of the same document; at least the
                  mean over all candidates, which is also what a document with one candidate gets
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.types import Floats, Ints, Vectors

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
K1, B, RARITY = 0.9, 0.4, 0.25
NEAREST, READ_BY_MEANING, WINDOW = 10, 100, 5
_STEPS = 127.0


@dataclass(frozen=True, slots=True, eq=False)
class CandidatePool:
    """A query's terms and the candidates as arrays.

    idf        of each query term                     pairs     numbers of terms that are neighbours in the query
    hits       per candidate, the number of the query term, or -1, at every place
    cosine     with the query; 0 without a vector     vectors   unit vectors of the candidates
    document   a number per candidate, equal for chunks of one document
    """

    idf: Floats
    pairs: Sequence[tuple[int, int]]
    hits: Sequence[Ints]
    cosine: Floats
    vectors: Vectors
    document: NDArray[np.intp]


def columns(pool: CandidatePool) -> Floats:
    """float64[candidates, features], in the order of NAMES."""
    counts = _counts(pool)
    lengths = np.array([max(len(hit), 1) for hit in pool.hits], np.float64)
    saturated = counts / (counts + K1 * (1.0 - B + B * lengths / lengths.mean())[:, None])
    held = (counts > 0.0).astype(np.float64)
    words = _share(saturated, pool.idf * _rare(held, pool.cosine) ** RARITY)
    near, adjacent = _proximity(pool)
    near_words, near_cosine = _neighbours(pool, (words, pool.cosine))
    found = {
        "new_words": words,
        "cosine": pool.cosine,
        "cover": _share(held, pool.idf),
        "near": near,
        "adjacent": adjacent,
        "near_words": near_words,
        "near_cosine": near_cosine,
        "kin_words": _kin_best(words, pool.document),
        "kin_cosine": _kin_best(pool.cosine, pool.document),
    }
    return np.stack([found[name] for name in NAMES], axis=1)


def _counts(pool: CandidatePool) -> Floats:
    size = len(pool.idf)
    return np.stack([np.bincount(hit[hit >= 0], minlength=size) for hit in pool.hits]).astype(np.float64)


def _share(held: Floats, weights: Floats) -> Floats:
    """Σ weight · held / Σ weight per candidate; 0 when nothing weighs."""
    whole = float(weights.sum())
    if whole <= 0.0:
        return np.zeros(len(held))
    return np.asarray((held * weights).sum(axis=1) / whole)


def _rare(held: Floats, cosine: Floats) -> Floats:
    """How rare each term is among the candidates nearest by meaning, 1 for the rarest."""
    if not held.shape[1]:
        return np.empty(0)
    size = min(READ_BY_MEANING, len(cosine))
    cut = np.partition(cosine, len(cosine) - size)[len(cosine) - size]
    close = held[cosine >= cut]
    having = close.sum(axis=0)
    rare = np.log(1.0 + (len(close) - having + 0.5) / (having + 0.5))
    return np.asarray(rare / rare.max())


def _proximity(pool: CandidatePool) -> tuple[Floats, Floats]:
    """Shares of the query's neighbouring terms found within WINDOW terms, and side by side in their order."""
    near, adjacent = np.zeros(len(pool.hits)), np.zeros(len(pool.hits))
    if not pool.pairs:
        return near, adjacent
    weights = np.array([pool.idf[one] + pool.idf[other] for one, other in pool.pairs])
    whole = float(weights.sum())
    wanted = np.array(pool.pairs)
    size = len(pool.idf)
    for row, hit in enumerate(pool.hits):
        places = np.flatnonzero(hit >= 0)
        found = hit[places]
        close = np.zeros((size, size), np.bool_)
        beside = np.zeros((size, size), np.bool_)
        # Places ascend, so the partner of a place within the window is one of the next WINDOW hits.
        for step in range(1, min(WINDOW, len(places) - 1) + 1):
            gap = places[step:] - places[:-step]
            one, other = found[:-step][gap <= WINDOW], found[step:][gap <= WINDOW]
            close[one, other] = close[other, one] = True
            if step == 1:
                beside[found[:-1][gap == 1], found[1:][gap == 1]] = True
        near[row] = (weights * close[wanted[:, 0], wanted[:, 1]]).sum() / whole
        adjacent[row] = (weights * beside[wanted[:, 0], wanted[:, 1]]).sum() / whole
    return near, adjacent


def _neighbours(pool: CandidatePool, values: Sequence[Floats]) -> list[Floats]:
    """The means of values over the nearest candidates of other documents (ties of the last included), 0 without any."""
    # On a grid of whole numbers every product and sum is exact, so threads cannot change the result.
    grid = np.rint(pool.vectors * _STEPS).astype(np.float32)
    cosine = grid @ grid.T
    cosine[pool.document[:, None] == pool.document[None, :]] = -np.inf
    size = min(NEAREST, len(cosine))
    cut = np.partition(cosine, len(cosine) - size, axis=1)[:, len(cosine) - size]
    chosen = (cosine >= cut[:, None]) & np.isfinite(cosine)
    many = np.maximum(chosen.sum(axis=1), 1)
    return [np.where(chosen, value[None, :], 0.0).sum(axis=1) / many for value in values]


def _kin_best(value: Floats, document: NDArray[np.intp]) -> Floats:
    """The best value of the document's other chunks, at least the mean of the pool."""
    best = np.full((2, int(document.max()) + 1), -np.inf)
    for number, one in zip(document.tolist(), value.tolist(), strict=True):
        if one > best[0, number]:
            best[:, number] = one, best[0, number]
        elif one > best[1, number]:
            best[1, number] = one
    other = np.where(value == best[0, document], best[1, document], best[0, document])
    return np.asarray(np.maximum(other, value.mean()))
