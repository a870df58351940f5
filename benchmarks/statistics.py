"""How long do a comparison's statistics and a run's scoring take?

Ten systems against one baseline on 1,000 queries, 10,000 draws: sign flips, plain and two-level bootstrap. Beside
them the same tests as a loop over draws and systems (numpy within a draw), on fewer draws, per draw. Then 1,000
results of 100 documents under ten metrics, beside ir_measures alone on dictionaries that were made before.

    python -m benchmarks.statistics
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ir_measures
import numpy as np

from assay.bench.metrics import DEFAULTS, score
from assay.bench.stats import bootstrap_cis, paired_rows, sign_flips
from assay.bench.types import Dataset, Retrieved, Topic
from benchmarks.measure import timed, write_receipt

QUERIES, SYSTEMS, DRAWS = 1_000, 10, 10_000
LOOPED = 200
"""Draws of the loops, which are too slow for all of them."""
DEPTH, JUDGED = 100, 20
ROUNDS = 5


def looped_signs(rows: Any, draws: int) -> list[float]:
    random = np.random.default_rng(0)
    seen = np.abs(rows.mean(axis=1))
    found = [0] * len(rows)
    for _ in range(draws):
        signs = random.choice([-1.0, 1.0], rows.shape[1])
        for place, row in enumerate(rows):
            found[place] += abs((signs * row).mean()) >= seen[place] - 1e-12
    return [(1 + count) / (1 + draws) for count in found]


def looped_bootstrap(rows: Any, draws: int, groups: Any) -> list[Any]:
    random = np.random.default_rng(0)
    members = [np.flatnonzero(groups == name) for name in np.unique(groups)]
    means: list[list[float]] = [[] for _ in rows]
    for _ in range(draws):
        drawn = [random.choice(members[g], len(members[g])) for g in random.integers(0, len(members), len(members))]
        places = np.concatenate(drawn)
        for place, row in enumerate(rows):
            means[place].append(float(row[places].mean()))
    return [np.quantile(values, [0.025, 0.975]) for values in means]


def statistics() -> dict[str, Callable[[], Any]]:
    random = np.random.default_rng(0)
    baseline = random.random(QUERIES)
    systems = baseline + random.normal(0.01, 0.2, (SYSTEMS, QUERIES))
    rows = systems - baseline
    groups = np.arange(QUERIES) // 20
    return {
        "sign flips": lambda: sign_flips(rows, DRAWS),
        "sign flips, loop": lambda: looped_signs(rows, LOOPED),
        "bootstrap": lambda: bootstrap_cis(rows, draws=DRAWS),
        "bootstrap, two levels": lambda: bootstrap_cis(rows, draws=DRAWS, groups=groups),
        "bootstrap, two levels, loop": lambda: looped_bootstrap(rows, LOOPED, groups),
        "whole comparison": lambda: paired_rows([(baseline, row) for row in systems], draws=DRAWS, groups=groups),
    }


def scoring() -> dict[str, Callable[[], Any]]:
    random = np.random.default_rng(1)
    names = [f"d{place}" for place in range(5_000)]
    topics = [f"q{place:04}" for place in range(QUERIES)]
    judged = {
        topic: {names[d]: int(d % 3 + 1) for d in random.choice(len(names), JUDGED, replace=False)} for topic in topics
    }
    found = {topic: [names[d] for d in random.choice(len(names), DEPTH, replace=False)] for topic in topics}
    data = Dataset("made", "test", "0", "synthetic", (), 0, {t: Topic(t) for t in topics}, judged)
    run = [Retrieved(topic, tuple(found[topic])) for topic in topics]
    theirs = [ir_measures.parse_measure(name.replace("AllR", "R")) for name in DEFAULTS]
    ready = {topic: {d: float(-place) for place, d in enumerate(found[topic])} for topic in topics}
    return {
        "scoring": lambda: score(DEFAULTS, data, run),
        "scoring, ir_measures alone": lambda: list(ir_measures.iter_calc(theirs, judged, ready)),
    }


def fastest(contenders: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Seconds of each, taken in turns; the fastest of its rounds counts."""
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(ROUNDS):
        for name, work in contenders.items():
            best[name] = min(best[name], timed(work)[0])
    return {name: round(seconds, 4) for name, seconds in best.items()}


def main() -> None:
    seconds = fastest(statistics()) | fastest(scoring())
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
