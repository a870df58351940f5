"""Rows that stand in every report: they would have exposed a result of 0.00 % on the first day.

random      a place drawn by lot among all other vectors
identity    copy the last: exact search with x
context     exact search with the exponentially weighted context
oracle      exact search with the vector that did follow: the ceiling, twins and all
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from assay.cascade.bank.bank import Bank
from assay.cascade.bank.index_build import true_nearest
from assay.cascade.bank.snapshot import BankSnapshot
from assay.cascade.evaluation.questions import DEPTH, NextVectorQuestion
from assay.cascade.lvm.ridge import DECAY
from assay.cascade.lvm.windows import recent
from assay.index.vectors import exact_scores
from assay.types import Progress, Vector, Vectors

Ranks = NDArray[np.int64]
SEED = 1
_SPARE = 32
_AT_ONCE = 256


def _context(snapshot: BankSnapshot, question: NextVectorQuestion) -> Vector:
    rows = snapshot.rows_of(question.ask.context_ids, "context_ids")
    weighted: Vector = recent(question.ask.vector[None], np.asarray(snapshot.bank.vectors[rows])[None], DECAY)[0]
    return weighted


def _oracle(snapshot: BankSnapshot, question: NextVectorQuestion) -> Vector:
    row = snapshot.bank.rows(np.array([min(question.right)]))[0]
    return np.asarray(snapshot.bank.vectors[row])


GUESSES: Mapping[str, Callable[[BankSnapshot, NextVectorQuestion], Vector]] = MappingProxyType(
    {"identity": lambda _, question: question.ask.vector, "context": _context, "oracle": _oracle}
)


def baseline_ranks(
    snapshot: BankSnapshot, asked: Sequence[NextVectorQuestion], progress: Progress = lambda *_: None
) -> dict[str, Ranks]:
    """The rank of the truth for every question and row; 0 when it is not among the first ten."""
    found = {"random": _drawn(len(snapshot.bank), asked)}
    for done, (name, guess) in enumerate(GUESSES.items(), 1):
        ranks = []
        for start in range(0, len(asked), _AT_ONCE):
            some = asked[start : start + _AT_ONCE]
            ranks += _ranks(snapshot.bank, some, np.stack([guess(snapshot, one) for one in some]))
        found[name] = np.array(ranks, np.int64)
        progress("baselines", done, len(GUESSES))
    return found


def _ranks(bank: Bank, asked: Sequence[NextVectorQuestion], guesses: Vectors) -> list[int]:
    """Exact search with many vectors at once: float32 names more than enough candidates, float64 orders them."""
    most = max(len(question.ask.exclude_ids) for question in asked)
    ranks = []
    named = true_nearest(bank.vectors, guesses, min(DEPTH + most + _SPARE, len(bank)))
    for question, guess, rows in zip(asked, guesses, named, strict=True):
        scores = exact_scores(bank.vectors, guess, rows)
        ids = bank.ids[rows][np.lexsort((bank.ids[rows], -scores))].tolist()
        left = [one for one in ids if one not in question.ask.exclude_ids]
        ranks.append(question.rank(left[:DEPTH]))
    return ranks


def _drawn(size: int, asked: Sequence[NextVectorQuestion]) -> Ranks:
    places = np.random.default_rng(SEED).integers(1, size, len(asked))
    return np.where(places <= DEPTH, places, 0)
