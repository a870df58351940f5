"""Statistics of paired comparisons: tests, intervals, effect sizes, power. Pure numpy; formulas: docs/metrics.md.

Results are identical on every IEEE 754 platform and for any number of threads: random numbers are PCG64 of a seed, and
resampled sums are exact (`units.py`).
"""

from assay.bench.stats.binomial import clopper_pearson
from assay.bench.stats.bootstrap import Groups, Interval, bootstrap_ci, bootstrap_cis
from assay.bench.stats.correction import benjamini_hochberg, holm
from assay.bench.stats.effects import TIE, EffectSize, effect_size
from assay.bench.stats.paired import PairedComparison, compare_pair, compare_pairs
from assay.bench.stats.power import minimum_effect, needed_queries, power
from assay.bench.stats.signflip import sign_flip, sign_flips
from assay.bench.stats.units import StatisticsError

__all__ = [
    "TIE",
    "EffectSize",
    "Groups",
    "Interval",
    "PairedComparison",
    "StatisticsError",
    "benjamini_hochberg",
    "bootstrap_ci",
    "bootstrap_cis",
    "clopper_pearson",
    "compare_pair",
    "compare_pairs",
    "effect_size",
    "holm",
    "minimum_effect",
    "needed_queries",
    "power",
    "sign_flip",
    "sign_flips",
]
