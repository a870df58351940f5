"""The baselines of every report; they expose a broken model, as one with Hit@5 = 0.00 %.

random      a random rank among all other vectors
identity    exact search with the current vector x
context     exact search with the exponentially weighted context
oracle      exact search with the vector that did follow: the ceiling
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from assay.cascade.bank.bank import Bank
from assay.cascade.bank.index_build import nearest_exact
from assay.cascade.bank.snapshot import BankSnapshot
from assay.cascade.evaluation.questions import DEPTH, NextVectorQuestion
from assay.cascade.lvm.ridge import DECAY
from assay.cascade.lvm.windows import weighted_context
from assay.index.vectors import exact_scores
from assay.types import Progress, Vector, Vectors

Ranks = NDArray[np.int64]
SEED = 1
_SPARE = 32
_AT_ONCE = 256


def _context(snapshot: BankSnapshot, question: NextVectorQuestion) -> Vector:
    rows = snapshot.find_rows(question.request.context_ids, "context_ids")
    weighted: Vector = weighted_context(
        question.request.vector[None], np.asarray(snapshot.bank.vectors[rows])[None], DECAY
    )[0]
    return weighted


def _oracle(snapshot: BankSnapshot, question: NextVectorQuestion) -> Vector:
    row = snapshot.bank.rows(np.array([min(question.answers)]))[0]
    return np.asarray(snapshot.bank.vectors[row])


GUESSES: Mapping[str, Callable[[BankSnapshot, NextVectorQuestion], Vector]] = MappingProxyType(
    {"identity": lambda _, question: question.request.vector, "context": _context, "oracle": _oracle}
)


def rank_baselines(
    snapshot: BankSnapshot, questions: Sequence[NextVectorQuestion], progress: Progress = lambda *_: None
) -> dict[str, Ranks]:
    """The rank of the right answer for every baseline and question; 0 if it is not among the first ten."""
    ranks_by_row = {"random": _rank_random(len(snapshot.bank), questions)}
    for done, (name, guess) in enumerate(GUESSES.items(), 1):
        ranks = []
        for start in range(0, len(questions), _AT_ONCE):
            some = questions[start : start + _AT_ONCE]
            ranks += _rank_guesses(snapshot.bank, some, np.stack([guess(snapshot, one) for one in some]))
        ranks_by_row[name] = np.array(ranks, np.int64)
        progress("baselines", done, len(GUESSES))
    return ranks_by_row


def _rank_guesses(bank: Bank, questions: Sequence[NextVectorQuestion], guesses: Vectors) -> list[int]:
    """Exact search with many vectors at once: float32 proposes more than enough candidates, float64 orders them."""
    most = max(len(question.request.exclude_ids) for question in questions)
    ranks = []
    proposed = nearest_exact(bank.vectors, guesses, min(DEPTH + most + _SPARE, len(bank)))
    for question, guess, rows in zip(questions, guesses, proposed, strict=True):
        scores = exact_scores(bank.vectors, guess, rows)
        ids = bank.ids[rows][np.lexsort((bank.ids[rows], -scores))].tolist()
        candidates = [one for one in ids if one not in question.request.exclude_ids]
        ranks.append(question.rank(candidates[:DEPTH]))
    return ranks


def _rank_random(size: int, questions: Sequence[NextVectorQuestion]) -> Ranks:
    places = np.random.default_rng(SEED).integers(1, size, len(questions))
    return np.where(places <= DEPTH, places, 0)
