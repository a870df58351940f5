"""The input of next-vector models: current vectors, their context and, for training, the vectors that followed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.types import Vectors


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
    """n windows. `context` is [n, C, D], oldest first; a zero row stands where there was no vector."""

    current: Vectors
    context: Vectors
    following: Vectors

    def __len__(self) -> int:
        return len(self.current)


def weighted_context(current: Vectors, context: Vectors, decay: float) -> Vectors:
    """The exponentially weighted context, of length one: e = l2(Σ_j decay^j · v_j), where v_0 is the current vector.

    Without context it is the current vector itself. Sums run in float64, in one order: einsum calls no threads.
    """
    weights = decay ** np.arange(context.shape[1], 0, -1, dtype=np.float64)
    total = current + np.einsum("c,ncd->nd", weights, context)
    length = np.sqrt(np.vecdot(total, total))[:, None]
    unit: Vectors = (total / np.where(length > 0.0, length, 1.0)).astype(np.float32)
    return unit
