"""Measures how many held-out targets resemble training vectors; shared ids are refused by the contract."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.cascade.bank.bank import Bank
from assay.cascade.bank.sequences import Pairs, Sequences
from assay.cascade.evaluation.questions import find_twins

NEAR = 0.99
"""Two chunks with at least this cosine say the same."""
_BLOCK = 8_192
_LOOKED_AT = 500
"""Targets that are compared with all training vectors, spread evenly."""


def measure_leakage(bank: Bank, sequences: Sequences) -> dict[str, Any]:
    """Twins in the bank, and held-out targets that are nearly identical to training vectors."""
    targets = np.unique(bank.rows(sequences.val.following))
    if len(targets) > _LOOKED_AT:
        targets = targets[np.linspace(0, len(targets) - 1, _LOOKED_AT).astype(np.int64)]
    best = np.full(len(targets), -1.0, np.float32)
    learned = bank.rows(sequences.train.all_ids()) if len(sequences.train) else np.empty(0, np.int64)
    queries = bank.vectors[targets]
    for start in range(0, len(learned), _BLOCK):
        best = np.maximum(best, (queries @ bank.vectors[learned[start : start + _BLOCK]].T).max(axis=1))
    return {
        "shared_ids": 0,  # a file whose halves share one does not open
        "twins_in_the_bank": len(find_twins(bank)),
        "targets_looked_at": len(targets),
        "targets_near_a_learned_vector": int((best >= NEAR).sum()),
        "near": NEAR,
        "repeated_pairs": _count_repeated(sequences.val),
        "answers_in_their_own_context": int(
            (sequences.val.context == sequences.val.following[:, None]).any(axis=1).sum()
        ),
    }


def _count_repeated(pairs: Pairs) -> int:
    """How many held-out pairs repeat another."""
    both = np.stack([pairs.current, pairs.following], axis=1)
    return len(both) - len(np.unique(both, axis=0))
