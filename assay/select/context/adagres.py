"""AdaGReS: chunks by relevance less redundancy, with a trade-off that adapts to the candidates and the budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.engine.checks import check_number, check_whole
from assay.engine.context import PackCandidate, PackedContext
from assay.protocols import Snapshot
from assay.select.context.candidates import SentencePool, make_pool
from assay.select.context.finish import Choice, Packing
from assay.select.context.greedy import count_context
from assay.select.context.naive import CAME_AFTER, add_while_fitting, choose_in_order
from assay.select.similarity import cosines
from assay.types import Floats, Note, Query


@dataclass(frozen=True, slots=True)
class Adagres:
    """Packs chunks that are relevant to the query and not redundant with each other (AdaGReS, arXiv 2512.25052).

        F(C) = alpha · Σ cos(q, c) − beta · Σ cos(c_i, c_j)           over the chunks of C, and over their pairs i < j
        next = argmax  alpha · cos(q, c) − beta · Σ cos(c, chosen)    of the chunks that fit; it ends at the first ≤ 0
        beta = alpha · mean cos(q, c) / ((k − 1) · mean cos(c_i, c_j))   k = tokens / mean tokens of a chunk

    With this beta an average chunk gains nothing any more when the budget is full. Means are over the pool, with a mean
    of pairs below 0.05 counted as 0.05; beta is 0 where k ≤ 1. A chunk larger than the whole budget is cut at a
    sentence. `headers` says whether titles, sections, versions and dates are written above the chunks. Reads the stored
    vectors; where query or chunks have none, it packs as `naive` does, with a note.
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    wants: ClassVar[frozenset[str]] = frozenset({"vector"})

    tokens: int = 400
    pool: int = 20
    headers: bool = True
    alpha: float = 1.0

    def __post_init__(self) -> None:
        check_whole("adagres.tokens", self.tokens, 1)
        check_whole("adagres.pool", self.pool, 1)
        check_number("adagres.alpha", self.alpha, 0.0, 100.0)

    def pack(self, query: Query, candidates: Sequence[PackCandidate], snapshot: Snapshot) -> PackedContext:
        pool = make_pool(candidates, headers=self.headers)
        vectors = read_vectors(pool, snapshot)
        if query.vector is None or vectors is None:
            note = Note("degraded", "packed in order of rank: the query or the store has no vectors", cure=_CURE)
            packing = Packing("adagres", self.tokens, candidates, pool, (note,))
            return packing.finish(choose_in_order(pool, self.tokens), CAME_AFTER)
        relevance = self.alpha * cosines(vectors, query.vector.astype(np.float64))
        likeness = np.stack([cosines(vectors, one) for one in vectors]) if len(vectors) else np.zeros((0, 0))
        beta = self.find_beta(pool, relevance, likeness)
        choices = self._choose(pool, relevance, beta * likeness)
        return Packing("adagres", self.tokens, candidates, pool).finish(choices, "redundant, or others gained more")

    def find_beta(self, pool: SentencePool, relevance: Floats, likeness: Floats) -> float:
        """The formula above; `relevance` holds alpha already."""
        size = len(relevance)
        mean_tokens = np.mean([max(1, candidate.chunk.tokens) for candidate in pool.candidates]) if size else 1.0
        expected = self.tokens / float(mean_tokens)
        if size < 2 or expected <= 1.0:
            return 0.0
        pairs = (float(likeness.sum()) - float(np.trace(likeness))) / (size * (size - 1))
        return max(0.0, float(relevance.mean())) / ((expected - 1.0) * max(pairs, _LEAST_LIKENESS))

    def _choose(self, pool: SentencePool, relevance: Floats, penalty: Floats) -> list[Choice]:
        choices: list[Choice] = []
        gain = relevance.copy()
        is_open = np.array([bool(places) for places in pool.ranges], np.bool_)
        while is_open.any():
            best = int(np.argmax(np.where(is_open, gain, -np.inf)))
            if gain[best] <= 0.0:
                break
            is_open[best] = False
            taken = list(choices)
            alone = count_context(pool, pool.ranges[best])
            if not add_while_fitting(pool, taken, best, self.tokens) and alone <= self.tokens:
                continue  # it does not fit as a whole, and is no giant: the next one may
            if len(taken) > len(choices):
                first = len(choices)
                choices = [*taken[:first], *(Choice(c.place, float(gain[best]), c.cost) for c in taken[first:])]
                gain = gain - penalty[best]
        return choices


_CURE = "search a store with an embedding model: assay optimize --embed"
_LEAST_LIKENESS = 0.05


def read_vectors(pool: SentencePool, snapshot: Snapshot) -> Floats | None:
    """The stored vectors of the candidates; None where one has none."""
    if snapshot.lacks("dense") is not None:
        return None
    rows = snapshot.rows(np.array([candidate.chunk.id for candidate in pool.candidates], np.str_))
    if (rows < 0).any():
        return None
    vectors = snapshot.vectors(rows).astype(np.float64)
    return vectors if np.einsum("ij,ij->i", vectors, vectors).all() else None
