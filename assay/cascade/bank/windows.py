"""The windows of a sequence file as vectors, a block at a time: what a next-vector model learns from."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from assay.cascade.bank.bank import Bank
from assay.cascade.bank.sequences import NONE, Pairs
from assay.cascade.lvm.windows import Windows
from assay.types import Vectors


def windows(bank: Bank, pairs: Pairs, context: int, block: int = 1_024) -> Iterator[Windows]:
    """Windows in the order of the pairs, with the newest `context` vectors of each."""
    for start in range(0, len(pairs), block):
        part = slice(start, start + block)
        yield Windows(
            bank.vectors[bank.rows(pairs.current[part])],
            context_vectors(bank, pairs, part, context),
            bank.vectors[bank.rows(pairs.following[part])],
        )


def context_vectors(bank: Bank, pairs: Pairs, part: slice, context: int) -> Vectors:
    """[n, C, D]; zero rows where there is none."""
    ids = pairs.context[part, max(0, pairs.context.shape[1] - context) :]
    made = np.zeros((len(ids), context, bank.dim), np.float32)
    there = ids != NONE
    made[:, context - ids.shape[1] :][there] = bank.vectors[bank.rows(ids[there])]
    return made
