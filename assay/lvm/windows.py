"""What a next-vector model reads: current vectors, those before them and, to learn from, those that followed."""

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


def recent(current: Vectors, context: Vectors, decay: float) -> Vectors:
    """The exponentially weighted context, of length one: e = l2(Σ_j decay^j · v_j), where v_0 is the current vector.

    Without context it is the current vector itself. Sums run from the newest to the oldest, in float64.
    """
    total = current.astype(np.float64)
    weight = 1.0
    for place in range(context.shape[1] - 1, -1, -1):
        weight *= decay
        total = total + weight * context[:, place].astype(np.float64)
    length = np.sqrt(np.vecdot(total, total))[:, None]
    return (total / np.where(length > 0.0, length, 1.0)).astype(np.float32)
