"""Is a difference real, how large is it, and could we have seen it? Pure numpy, seeded; formulas: docs/metrics.md.

Every result is the same on any platform that rounds as IEEE 754 does, on any number of threads: randomness is
PCG64 of a seed, and resampled sums are exact (`units.py`).
"""

from assay.bench.stats.binomial import clopper_pearson
from assay.bench.stats.bootstrap import Groups, Interval, bootstrap_ci, bootstrap_cis
from assay.bench.stats.correction import benjamini_hochberg, holm
from assay.bench.stats.effects import TIE, EffectSize, effect_size
from assay.bench.stats.paired import Paired, paired, paired_rows
from assay.bench.stats.power import minimum_effect, needed, power
from assay.bench.stats.signflip import sign_flip, sign_flips
from assay.bench.stats.units import StatisticsError

__all__ = [
    "TIE",
    "EffectSize",
    "Groups",
    "Interval",
    "Paired",
    "StatisticsError",
    "benjamini_hochberg",
    "bootstrap_ci",
    "bootstrap_cis",
    "clopper_pearson",
    "effect_size",
    "holm",
    "minimum_effect",
    "needed",
    "paired",
    "paired_rows",
    "power",
    "sign_flip",
    "sign_flips",
]
