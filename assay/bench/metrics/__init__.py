"""How good is a result? Metrics as values that are their names; formulas and tie rules: docs/metrics.md."""

from assay.bench.metrics.names import MEASURES, Metric, MetricError, parse
from assay.bench.metrics.scoring import BUDGETS, DEFAULTS, defaults, score
from assay.bench.metrics.summary import from_json, mean, to_json
from assay.bench.metrics.trec import in_trec_order

__all__ = [
    "BUDGETS",
    "DEFAULTS",
    "MEASURES",
    "Metric",
    "MetricError",
    "defaults",
    "from_json",
    "in_trec_order",
    "mean",
    "parse",
    "score",
    "to_json",
]
