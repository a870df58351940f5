"""How high does the truth stand? What next-vector models are chosen by, on windows that were kept back.

Not the mean cosine: what is nearest to the mean of all answers has a fine cosine and no rank (decision 0029).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from assay.cascade.lvm.windows import Windows
from assay.types import Vectors

RANKED = 1_000
"""Windows that decide."""


def deciding(kept_back: Iterable[Windows]) -> Windows:
    """The last of the windows kept back: neighbours in the file are neighbours in a document, and make the harder
    candidates."""
    held = list(kept_back)
    return Windows(
        np.concatenate([some.current for some in held])[-RANKED:],
        np.concatenate([some.context for some in held])[-RANKED:],
        np.concatenate([some.following for some in held])[-RANKED:],
    )


def reciprocal_rank(held: Windows, steps: Vectors) -> tuple[float, float]:
    """Mean of 1 / rank of the truth by cos(ŷ, ·) among all current and next vectors of these windows, and mean cosine.

    The current vector itself is no candidate; equal scores count for the truth. Scores are rounded to nine digits, so
    that the order in which a product adds up decides nothing.
    """
    moved = held.current.astype(np.float64) + steps
    moved /= np.maximum(np.sqrt(np.vecdot(moved, moved))[:, None], 1e-12)
    candidates = np.concatenate([held.following, held.current]).astype(np.float64)
    scores = np.round(moved @ candidates.T, 9)
    own = np.arange(len(held))
    truth = scores[own, own]
    scores[own, own + len(held)] = -np.inf
    ranks = 1.0 + (scores > truth[:, None]).sum(axis=1)
    return round(float(np.mean(1.0 / ranks)), 6), round(float(truth.mean()), 6)
