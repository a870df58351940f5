"""Scores a run with a dataset's judgements: every metric, one value per scored topic."""

from __future__ import annotations

from collections.abc import Sequence

from assay.bench.metrics.budget import score_budgets
from assay.bench.metrics.names import MetricError, parse
from assay.bench.metrics.ranking import score_rankings
from assay.bench.types import Dataset, Run, Scores

DEFAULTS: tuple[str, ...] = (
    "nDCG@10",
    "RR@10",
    "AP@100",
    "P@5",
    "R@10",
    "R@100",
    "AllR@10",
    "Success@1",
    "Success@10",
    "Judged@10",
)
"""The default metrics."""

BUDGETS: tuple[str, ...] = (
    *(f"ER@{tokens}tok" for tokens in (200, 400, 800, 1200)),
    *(f"A@{tokens}tok" for tokens in (200, 400, 800, 1200)),
    "EP@400tok",
    "A_strict@400tok",
)
"""Default metrics in addition to `DEFAULTS` if evidence is marked."""


def default_metrics(dataset: Dataset) -> tuple[str, ...]:
    """The default metrics that a dataset supports."""
    return DEFAULTS + BUDGETS if any(dataset.evidence.get(topic) for topic in dataset.scored) else DEFAULTS


def score(names: Sequence[str], dataset: Dataset, run: Run) -> dict[str, Scores]:
    """Canonical name → one value per topic of `dataset.scored`, in that order; names in the order asked for.

    A failed result scores 0. A topic without marked evidence has no value (NaN) in metrics by token budget.
    """
    metrics = list(dict.fromkeys(parse(name) for name in names))
    topics = dataset.scored
    run_topics = tuple(result.topic for result in run)
    if run_topics != topics:
        raise MetricError(
            f"the run has {len(run_topics)} results, which are not those of the {len(topics)} scored topics of "
            f"{dataset.name}/{dataset.split} in their order",
            "give one result per topic of Dataset.scored; a query that failed is a result with `failed` set",
        )
    judgements = [dataset.judgements[topic] for topic in topics]
    values = score_rankings([metric for metric in metrics if metric.unit == "rank"], judgements, run)
    values |= score_budgets([metric for metric in metrics if metric.unit == "token"], dataset, run)
    return {str(metric): values[metric] for metric in metrics}
