"""Compares systems over several datasets: the mean of the sets' means, wins and losses over sets, a test over sets.

A system that wins on the sets it was tuned on may lose on others, so the unit is the set, not the query: every set
counts once, whatever its size, and the paired sign flips and the bootstrap draw sets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from assay.bench.compare import DRAWS, LEVEL, SEED, TESTS, ComparisonResult, compare_columns
from assay.bench.metrics import parse
from assay.bench.receipt import Receipt, ReceiptError, read
from assay.bench.run_columns import RunColumns, check_fit, read_columns
from assay.bench.stats import compare_pairs, holm
from assay.bench.stats.units import exact_mean
from assay.bench.types import ALL
from assay.errors import nearest

METRIC = "nDCG@10"
FEWEST_SETS = 2


def find_runs(paths: Iterable[Path]) -> list[Receipt]:
    """Read receipts of runs: files, and every run in a folder. Other receipts of a folder are passed over."""
    receipts: list[Receipt] = []
    for path in paths:
        if path.is_dir():
            found = [read(file) for file in sorted(path.glob("*.json"))]
            receipts += [receipt for receipt in found if receipt.kind == "run"]
        else:
            receipts.append(read(path))
    return receipts


def pool(
    receipts: Sequence[Receipt], systems: Sequence[str] = (), metrics: Sequence[str] = (METRIC,), split: str = ""
) -> Receipt:
    """Systems against the first of them over every set that all of them ran on, as a receipt of kind "pooled".

    `systems` defaults to all in the receipts, in their order; `split` leaves out other splits. Sets that a system
    lacks are listed, not compared.
    """
    runs = [run for run in map(read_columns, receipts) if not split or run.dataset["split"] == split]
    names = choose_systems(runs, systems)
    chosen = list(dict.fromkeys(str(parse(metric)) for metric in metrics))
    sets, incomplete = group_by_set(runs, names, chosen)
    if len(sets) < FEWEST_SETS:
        lacking = "; ".join(f"{name} lacks {', '.join(missing)}" for name, missing in incomplete.items())
        raise ReceiptError(
            f"{len(sets)} of the sets can be pooled" + (f" ({lacking})" if lacking else ""),
            f"run every system on {FEWEST_SETS} sets or more with {', '.join(chosen)}: assay bench run … --out DIR",
        )
    by_set = [_compare_set(name, members, chosen) for name, members in sets.items()]
    canonical = {
        "baseline": names[0],
        "systems": names,
        "metrics": chosen,
        "tests": {**TESTS, "unit": "set", "adjusted": {"all": "holm"}},
        "sets": [
            {**members[0].dataset, "queries": len(members[0].queries), "receipts": [run.receipt for run in members]}
            for members in sets.values()
        ],
        "incomplete": incomplete,
        "results": [{"set": name, **result.to_dict()} for name, found in by_set for result in found],
        "pooled": _test_over_sets(list(sets.values()), names, chosen),
    }
    return Receipt("pooled", canonical, {})


def choose_systems(runs: Sequence[RunColumns], wanted: Sequence[str]) -> list[str]:
    known = list(dict.fromkeys(run.system for run in runs))
    for name in wanted:
        if name not in known:
            raise ReceiptError(f"no receipt is of a system called {name!r}", nearest(name, known))
    names = list(dict.fromkeys(wanted)) or known
    if len(names) < 2:
        raise ReceiptError("a comparison takes two systems or more", "name the baseline first, then the others")
    return names


def group_by_set(
    runs: Sequence[RunColumns], names: Sequence[str], metrics: Sequence[str]
) -> tuple[dict[str, list[RunColumns]], dict[str, list[str]]]:
    """The runs of every complete set, in the order of the systems, and what the other sets lack."""
    found: dict[str, dict[str, RunColumns]] = {}
    for run in runs:
        members = found.setdefault(f"{run.dataset['name']}/{run.dataset['split']}", {})
        if run.system in members:
            raise ReceiptError(
                f"two receipts are of {run.system} on {run.dataset['name']}/{run.dataset['split']}", "name one of them"
            )
        members[run.system] = run
    complete: dict[str, list[RunColumns]] = {}
    incomplete: dict[str, list[str]] = {}
    for name, members in sorted(found.items()):
        missing = [s for s in names if s not in members or members[s].why or not set(metrics) <= set(members[s].scores)]
        if missing:
            incomplete[name] = missing
            continue
        complete[name] = [members[system] for system in names]
        for run in complete[name][1:]:
            check_fit(complete[name][0], run)
    return complete, incomplete


def _compare_set(
    name: str, members: Sequence[RunColumns], metrics: Sequence[str]
) -> tuple[str, list[ComparisonResult]]:
    """Every system against the first on one set, query by query."""
    base, *others = members
    return name, compare_columns(base, others, [(metric, ALL) for metric in metrics])


def _test_over_sets(
    sets: Sequence[Sequence[RunColumns]], names: Sequence[str], metrics: Sequence[str]
) -> list[dict[str, Any]]:
    """Each system against the first with one value per set, its mean. p by Holm over systems and metrics."""
    rows = [(place, metric) for place in range(1, len(names)) for metric in metrics]
    means = {
        (place, metric): np.array([exact_mean(members[place].values(metric)) for members in sets])
        for place in range(len(names))
        for metric in metrics
    }
    pairs = [(means[0, metric], means[place, metric]) for place, metric in rows]
    found = compare_pairs(pairs, level=LEVEL, draws=DRAWS, seed=SEED)
    adjusted = holm([one.p for one in found])
    return [
        ComparisonResult(names[place], metric, "sets", one, float(p)).to_dict()
        for (place, metric), one, p in zip(rows, found, adjusted, strict=True)
    ]
