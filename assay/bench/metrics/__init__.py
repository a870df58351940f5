"""Retrieval metrics, identified by their names. Formulas and tie rules: docs/metrics.md."""

from assay.bench.metrics.names import MEASURES, Metric, MetricError, parse
from assay.bench.metrics.scoring import BUDGETS, DEFAULTS, default_metrics, score
from assay.bench.metrics.summary import from_json, mean, to_json
from assay.bench.metrics.trec_order import sort_like_trec_eval

__all__ = [
    "BUDGETS",
    "DEFAULTS",
    "MEASURES",
    "Metric",
    "MetricError",
    "default_metrics",
    "from_json",
    "mean",
    "parse",
    "score",
    "sort_like_trec_eval",
    "to_json",
]
