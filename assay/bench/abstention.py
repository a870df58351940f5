"""Does a system keep silent where the corpus has no answer? Questions without one are asked apart, and never scored.

silent            share of the unanswerable questions that got no result
wrongly_silent    share of the answerable ones that got none: what that silence costs
separation        how often the best score of an answerable question is above that of an unanswerable one, over all
                  pairs, ties half (the area under the ROC curve): 1 is a perfect threshold, ½ is a coin. No result
                  counts as the lowest score.
"""

from __future__ import annotations

import math

import numpy as np

from assay.bench.types import Run
from assay.types import Floats


def abstention(answerable: Run, unanswerable: Run) -> dict[str, float | int]:
    """The three numbers above, and how many questions stand behind them. There is at least one of each kind."""
    answered, asked = _best(answerable), _best(unanswerable)
    order = np.sort(asked)
    below = np.searchsorted(order, answered, "left")
    tied = np.searchsorted(order, answered, "right") - below
    return {
        "unanswerable": len(asked),
        "answerable": len(answered),
        "silent": float(np.mean(asked == -math.inf)),
        "wrongly_silent": float(np.mean(answered == -math.inf)),
        "separation": float((below + tied / 2).mean() / len(asked)),
    }


def _best(run: Run) -> Floats:
    return np.array([result.scores[0] if result.scores else -math.inf for result in run], np.float64)
