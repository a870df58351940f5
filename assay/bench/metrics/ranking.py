"""Metrics over ranked documents, computed by ir_measures (trec_eval's own code for all but RR@k and Judged@k).

Results are totally ordered before scoring (`order.py`), so the order is passed on as strictly falling scores without
ties. Documents with a grade at or below 0 are judged and not relevant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count

import numpy as np

from assay.bench.metrics.names import Metric, MetricError
from assay.bench.types import Scores, TopicResult
from assay.errors import MissingExtra

MAX_GRADE = 1000
"""The highest grade: trec_eval's time grows with its square, and beyond 32 bits the result is wrong."""


def score_rankings(
    metrics: Sequence[Metric], judgements: Sequence[Mapping[str, int]], run: Sequence[TopicResult]
) -> dict[Metric, Scores]:
    """Compute one value per result; `judgements` (document → grade) are in the order of `run`.

    A failed or empty result scores 0.
    """
    if not metrics:
        return {}
    try:
        import ir_measures
    except ImportError as error:
        raise MissingExtra("scoring rankings", "lab") from error

    measures = {metric: ir_measures.parse_measure(_ir_measures_name(metric)) for metric in metrics}
    grades, places = _number_documents(judgements, run)
    columns = {str(measure): np.zeros(len(run)) for measure in measures.values()}
    for found in ir_measures.iter_calc(list(dict.fromkeys(measures.values())), grades, places):
        columns[str(found.measure)][int(found.query_id)] = found.value
    values = {metric: columns[str(measure)] for metric, measure in measures.items()}
    return {metric: _from_ir_measures(metric, column) for metric, column in values.items()}


def _ir_measures_name(metric: Metric) -> str:
    """The measure of ir_measures that a metric is computed from."""
    return str(Metric("R", metric.cutoff) if metric.measure == "AllR" else metric)


def _from_ir_measures(metric: Metric, column: Scores) -> Scores:
    return (column == 1.0).astype(np.float64) if metric.measure == "AllR" else column


def _number_documents(
    judgements: Sequence[Mapping[str, int]], run: Sequence[TopicResult]
) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Replace document ids by numbers, so that ids with any characters reach the C code as digits."""
    numbers: dict[str, str] = {}
    fresh = count()
    grades: dict[str, dict[str, int]] = {}
    places: dict[str, dict[str, float]] = {}

    def number(document: str) -> str:
        assigned = numbers.get(document)
        if assigned is None:
            assigned = numbers[document] = str(next(fresh))
        return assigned

    for place, (judged, result) in enumerate(zip(judgements, run, strict=True)):
        if max(judged.values(), default=0) > MAX_GRADE:
            raise MetricError(
                f"topic {result.topic!r} has a grade of {max(judged.values())}", f"grades go up to {MAX_GRADE}"
            )
        grades[str(place)] = {number(document): max(0, grade) for document, grade in judged.items()}
        documents = () if result.failed else result.documents
        size = len(documents)
        row = {number(document): float(size - rank) for rank, document in enumerate(documents)}
        if len(row) < size:
            raise MetricError(
                f"the result of topic {result.topic!r} names a document twice", "give each document its best place only"
            )
        if row:
            places[str(place)] = row
    return grades, places
