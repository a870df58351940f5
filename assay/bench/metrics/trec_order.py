"""Sorts results of other systems as trec_eval does."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from assay.bench.metrics.names import MetricError
from assay.bench.types import TopicResult


def sort_like_trec_eval(topic: str, scores: Mapping[str, float]) -> TopicResult:
    """Sort a TREC run's documents of one topic as trec_eval ranks them.

    trec_eval ignores the rank column. It reads scores in single precision, puts the higher first and, of equal
    ones, the document id that is larger byte by byte: two scores that differ in the ninth digit are a tie.
    """
    for document, value in scores.items():
        if not math.isfinite(value):
            raise MetricError(
                f"topic {topic!r}: document {document!r} has the score {value}", "a run's scores are finite numbers"
            )
    with np.errstate(over="ignore"):  # a score beyond single precision is infinite to trec_eval as well
        single = {document: float(np.float32(value)) for document, value in scores.items()}
    # code points sort as their UTF-8 bytes do
    ordered = sorted(single, key=lambda document: (single[document], document), reverse=True)
    return TopicResult(topic, tuple(ordered), tuple(scores[document] for document in ordered))
