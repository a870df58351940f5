"""The race against its two paths: what it gains over the better one, and what it loses by choosing wrongly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.bench.stats import sign_flip
from assay.bench.stats.units import exact_mean
from assay.bench.types import Scores

MIN_UPLIFT = 0.03
"""The uplift over the better path that counts as a stratum won."""


@dataclass(frozen=True, slots=True)
class RaceResult:
    """The race over some queries.

    better   the path with the higher mean, "beam" or "collapsed"; a tie is "beam"
    gain     mean(race) − mean(better path)
    regret   mean over queries of max(beam, collapsed) − race: what a perfect choice would add
    p        intersection-union: the larger p of the two paired tests, so that both paths must be beaten
    """

    n: int
    race: float
    beam: float
    collapsed: float
    better: str
    gain: float
    regret: float
    p: float


def compare_race(race: Scores, beam: Scores, collapsed: Scores, *, draws: int = 10_000, seed: int = 0) -> RaceResult:
    """Compare the race with its paths on the same queries."""
    means = {"beam": exact_mean(beam), "collapsed": exact_mean(collapsed)}
    better = max(means, key=lambda name: (means[name], name == "beam"))
    return RaceResult(
        n=len(race),
        race=exact_mean(race),
        beam=means["beam"],
        collapsed=means["collapsed"],
        better=better,
        gain=exact_mean(race) - means[better],
        regret=exact_mean(np.maximum(beam, collapsed) - race),
        p=max(sign_flip(race - path, draws, seed) for path in (beam, collapsed)),
    )


def compare_race_by_stratum(
    race: Scores, beam: Scores, collapsed: Scores, strata: Mapping[str, NDArray[np.int64]], *, seed: int = 0
) -> dict[str, RaceResult]:
    """`compare_race` within every stratum: the better path is the better one *there*."""
    return {
        name: compare_race(race[places], beam[places], collapsed[places], seed=seed)
        for name, places in strata.items()
        if len(places)
    }


def strata_won(results: Mapping[str, RaceResult], uplift: float = MIN_UPLIFT) -> list[str]:
    """The strata in which the race gains at least `uplift` over the better path."""
    return [name for name, result in results.items() if result.gain >= uplift - 1e-12]
