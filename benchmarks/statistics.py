"""Measures the statistics of a comparison and the scoring of a run.

Ten systems against one baseline on 1,000 queries with 10,000 draws: sign flips, plain and two-level bootstrap, and for
comparison the same tests as a loop over draws and systems (numpy within a draw) on fewer draws. Then 1,000 results of
100 documents under ten metrics, compared with ir_measures alone on prepared dictionaries.

    python -m benchmarks.statistics
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ir_measures
import numpy as np

from assay.bench.metrics import DEFAULTS, score
from assay.bench.stats import bootstrap_cis, compare_pairs, sign_flips
from assay.bench.types import Dataset, Topic, TopicResult
from benchmarks.measure import time_call, write_receipt

QUERIES, SYSTEMS, DRAWS = 1_000, 10, 10_000
LOOPED = 200
"""Draws of the loops, which are too slow for all of them."""
DEPTH, JUDGED = 100, 20
ROUNDS = 5


def loop_sign_flips(rows: Any, draws: int) -> list[float]:
    random = np.random.default_rng(0)
    observed = np.abs(rows.mean(axis=1))
    results = [0] * len(rows)
    for _ in range(draws):
        signs = random.choice([-1.0, 1.0], rows.shape[1])
        for place, row in enumerate(rows):
            results[place] += abs((signs * row).mean()) >= observed[place] - 1e-12
    return [(1 + count) / (1 + draws) for count in results]


def loop_bootstrap(rows: Any, draws: int, groups: Any) -> list[Any]:
    random = np.random.default_rng(0)
    members = [np.flatnonzero(groups == name) for name in np.unique(groups)]
    means: list[list[float]] = [[] for _ in rows]
    for _ in range(draws):
        drawn = [random.choice(members[g], len(members[g])) for g in random.integers(0, len(members), len(members))]
        places = np.concatenate(drawn)
        for place, row in enumerate(rows):
            means[place].append(float(row[places].mean()))
    return [np.quantile(values, [0.025, 0.975]) for values in means]


def statistics_contenders() -> dict[str, Callable[[], Any]]:
    random = np.random.default_rng(0)
    baseline = random.random(QUERIES)
    systems = baseline + random.normal(0.01, 0.2, (SYSTEMS, QUERIES))
    rows = systems - baseline
    groups = np.arange(QUERIES) // 20
    return {
        "sign flips": lambda: sign_flips(rows, DRAWS),
        "sign flips, loop": lambda: loop_sign_flips(rows, LOOPED),
        "bootstrap": lambda: bootstrap_cis(rows, draws=DRAWS),
        "bootstrap, two levels": lambda: bootstrap_cis(rows, draws=DRAWS, groups=groups),
        "bootstrap, two levels, loop": lambda: loop_bootstrap(rows, LOOPED, groups),
        "whole comparison": lambda: compare_pairs([(baseline, row) for row in systems], draws=DRAWS, groups=groups),
    }


def scoring_contenders() -> dict[str, Callable[[], Any]]:
    random = np.random.default_rng(1)
    names = [f"d{place}" for place in range(5_000)]
    topics = [f"q{place:04}" for place in range(QUERIES)]
    judged = {
        topic: {names[d]: int(d % 3 + 1) for d in random.choice(len(names), JUDGED, replace=False)} for topic in topics
    }
    results = {topic: [names[d] for d in random.choice(len(names), DEPTH, replace=False)] for topic in topics}
    data = Dataset("made", "test", "0", "synthetic", (), 0, {t: Topic(t) for t in topics}, judged)
    run = [TopicResult(topic, tuple(results[topic])) for topic in topics]
    measures = [ir_measures.parse_measure(name.replace("AllR", "R")) for name in DEFAULTS]
    run_scores = {topic: {d: float(-place) for place, d in enumerate(results[topic])} for topic in topics}
    return {
        "scoring": lambda: score(DEFAULTS, data, run),
        "scoring, ir_measures alone": lambda: list(ir_measures.iter_calc(measures, judged, run_scores)),
    }


def time_fastest(contenders: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Seconds of each contender, alternating; the fastest round counts."""
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(ROUNDS):
        for name, work in contenders.items():
            best[name] = min(best[name], time_call(work)[0])
    return {name: round(seconds, 4) for name, seconds in best.items()}


def main() -> None:
    seconds = time_fastest(statistics_contenders()) | time_fastest(scoring_contenders())
    per_draw = DRAWS / LOOPED
    ratios = {
        f"{name}: loop / vectorised, per draw": round(seconds[f"{name}, loop"] * per_draw / seconds[name], 1)
        for name in ("sign flips", "bootstrap, two levels")
    }
    ratios["scoring / ir_measures alone"] = round(seconds["scoring"] / seconds["scoring, ir_measures alone"], 2)
    sizes = {"queries": QUERIES, "systems": SYSTEMS, "draws": DRAWS, "draws of loops": LOOPED}
    sizes |= {"documents per result": DEPTH, "metrics": len(DEFAULTS), "rounds": ROUNDS}
    print(seconds, ratios, sep="\n")
    print(write_receipt("statistics", {"sizes": sizes, "seconds": seconds, "ratios": ratios}))


if __name__ == "__main__":
    main()
