"""What was learned of the answers: nothing by id (the contract refuses that), how much by vector."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.cascade.bank.bank import Bank
from assay.cascade.bank.sequences import Pairs, Sequences
from assay.cascade.evaluation.questions import twins

NEAR = 0.99
"""A cosine from which two chunks say the same in other words."""
_BLOCK = 8_192
_LOOKED_AT = 500
"""Targets that are held against everything learned, spread over all."""


def leakage(bank: Bank, sequences: Sequences) -> dict[str, Any]:
    """Twins in the bank, and held-out targets that were learned from as good as word for word."""
    targets = np.unique(bank.rows(sequences.val.following))
    if len(targets) > _LOOKED_AT:
        targets = targets[np.linspace(0, len(targets) - 1, _LOOKED_AT).astype(np.int64)]
    best = np.full(len(targets), -1.0, np.float32)
    known = bank.rows(sequences.train.every()) if len(sequences.train) else np.empty(0, np.int64)
    asked = bank.vectors[targets]
    for start in range(0, len(known), _BLOCK):
        best = np.maximum(best, (asked @ bank.vectors[known[start : start + _BLOCK]].T).max(axis=1))
    return {
        "shared_ids": 0,  # a file whose halves share one does not open
        "twins_in_the_bank": len(twins(bank)),
        "targets_looked_at": len(targets),
        "targets_near_a_learned_vector": int((best >= NEAR).sum()),
        "near": NEAR,
        "repeated_pairs": _repeated(sequences.val),
        "answers_in_their_own_context": int(
            (sequences.val.context == sequences.val.following[:, None]).any(axis=1).sum()
        ),
    }


def _repeated(pairs: Pairs) -> int:
    """Pairs that stand more than once among the held-out ones."""
    both = np.stack([pairs.current, pairs.following], axis=1)
    return len(both) - len(np.unique(both, axis=0))
