"""Measures abstention: whether a system returns nothing for questions that the corpus does not answer.

These questions run apart from the scored ones.

silent            share of the unanswerable questions without a result
wrongly_silent    share of the answerable questions without a result: the cost of abstaining
separation        how often the best score of an answerable question is above that of an unanswerable one, over all
                  pairs, ties half (the area under the ROC curve): 1 is a perfect threshold, ½ is a coin. No result
                  counts as the lowest score.
"""

from __future__ import annotations

import math

import numpy as np

from assay.bench.types import Run
from assay.types import Floats


def measure_abstention(answerable: Run, unanswerable: Run) -> dict[str, float | int]:
    """The three numbers above and the number of questions of each kind; there is at least one of each."""
    best, best_unanswerable = _best_scores(answerable), _best_scores(unanswerable)
    order = np.sort(best_unanswerable)
    below = np.searchsorted(order, best, "left")
    tied = np.searchsorted(order, best, "right") - below
    return {
        "unanswerable": len(best_unanswerable),
        "answerable": len(best),
        "silent": float(np.mean(best_unanswerable == -math.inf)),
        "wrongly_silent": float(np.mean(best == -math.inf)),
        "separation": float((below + tied / 2).mean() / len(best_unanswerable)),
    }


def _best_scores(run: Run) -> Floats:
    return np.array([result.scores[0] if result.scores else -math.inf for result in run], np.float64)
