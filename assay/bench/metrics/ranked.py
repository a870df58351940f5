"""Metrics over ranked documents, computed by ir_measures (trec_eval's own code for all but RR@k and Judged@k).

A result of the lab is totally ordered before it comes here (`order.py`), so its order is handed on as strictly
falling scores, and no tie is left for anyone to break. Grades at or below 0 are judged and not relevant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count

import numpy as np

from assay.bench.metrics.names import Metric, MetricError
from assay.bench.types import Retrieved, Scores
from assay.errors import MissingExtra

HIGHEST = 1000
"""No grade is higher: trec_eval's time grows with the square of the highest one, and beyond 32 bits it miscounts."""


def ranked(
    metrics: Sequence[Metric], judgements: Sequence[Mapping[str, int]], run: Sequence[Retrieved]
) -> dict[Metric, Scores]:
    """One value per result; `judgements` (document → grade) stand in the order of `run`.

    A failed result, and one without documents, scores 0.
    """
    if not metrics:
        return {}
    try:
        import ir_measures
    except ImportError as error:
        raise MissingExtra("scoring rankings", "lab") from error

    theirs = {metric: ir_measures.parse_measure(_theirs(metric)) for metric in metrics}
    grades, places = _numbered(judgements, run)
    columns = {str(measure): np.zeros(len(run)) for measure in theirs.values()}
    for found in ir_measures.iter_calc(list(dict.fromkeys(theirs.values())), grades, places):
        columns[str(found.measure)][int(found.query_id)] = found.value
    values = {metric: columns[str(measure)] for metric, measure in theirs.items()}
    return {metric: _ours(metric, column) for metric, column in values.items()}


def _theirs(metric: Metric) -> str:
    """The measure of ir_measures that a metric is computed from."""
    return str(Metric("R", metric.cutoff) if metric.measure == "AllR" else metric)


def _ours(metric: Metric, column: Scores) -> Scores:
    return (column == 1.0).astype(np.float64) if metric.measure == "AllR" else column


def _numbered(
    judgements: Sequence[Mapping[str, int]], run: Sequence[Retrieved]
) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Judgements and rankings with numbers for names: an id of any characters reaches the C code as digits."""
    numbers: dict[str, str] = {}
    fresh = count()
    grades: dict[str, dict[str, int]] = {}
    places: dict[str, dict[str, float]] = {}

    def number(document: str) -> str:
        known = numbers.get(document)
        if known is None:
            known = numbers[document] = str(next(fresh))
        return known

    for place, (judged, result) in enumerate(zip(judgements, run, strict=True)):
        if max(judged.values(), default=0) > HIGHEST:
            raise MetricError(
                f"topic {result.topic!r} has a grade of {max(judged.values())}", f"grades go up to {HIGHEST}"
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
