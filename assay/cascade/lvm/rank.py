"""The reciprocal rank of the true next vector on held-out windows: the score that selects next-vector models.

Not the mean cosine: a prediction near the mean of all answers has a high cosine and a low rank (decision 0026).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from assay.cascade.lvm.windows import Windows
from assay.types import Vectors

RANKED = 1_000
"""Windows that are scored."""


def last_windows(kept_back: Iterable[Windows]) -> Windows:
    """The last held-out windows: neighbours in the file are neighbours in a document, which makes harder candidates."""
    windows = list(kept_back)
    return Windows(
        np.concatenate([part.current for part in windows])[-RANKED:],
        np.concatenate([part.context for part in windows])[-RANKED:],
        np.concatenate([part.following for part in windows])[-RANKED:],
    )


def reciprocal_rank(windows: Windows, steps: Vectors) -> tuple[float, float]:
    """Mean of 1 / rank of the true next vector by cos(ŷ, ·) among all vectors of these windows, and mean cosine.

    The current vector itself is no candidate; ties count in favour of the truth. Scores are rounded to nine
    digits, so that the summation order of the product does not matter.
    """
    moved = windows.current.astype(np.float64) + steps
    moved /= np.maximum(np.sqrt(np.vecdot(moved, moved))[:, None], 1e-12)
    candidates = np.concatenate([windows.following, windows.current]).astype(np.float64)
    scores = np.round(moved @ candidates.T, 9)
    diagonal = np.arange(len(windows))
    truth = scores[diagonal, diagonal]
    scores[diagonal, diagonal + len(windows)] = -np.inf
    ranks = 1.0 + (scores > truth[:, None]).sum(axis=1)
    return round(float(np.mean(1.0 / ranks)), 6), round(float(truth.mean()), 6)
