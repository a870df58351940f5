"""Measures every arm on both splits of one set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from assay.bench.evidence_sets import EvaluationSet, load_splits
from assay.bench.metrics import score
from assay.bench.metrics.context import BudgetContext, split_context
from assay.bench.runner import Bench, RunPlan
from assay.bench.stats.bootstrap import bootstrap_ci
from assay.bench.types import Dataset
from assay.bench.workspace import IndexSettings, Workspace, prepare
from assay.config.load import load
from assay.engine.pipeline import read_candidates
from assay.select.context.candidates import make_pool
from assay.select.context.coverage import Coverage
from assay.select.context.slots import QuerySlots
from assay.types import Progress
from benchmarks.context.arms import ABLATIONS, BASELINE, PAIRS, UNPACKED, make_arms, make_variants

BUDGETS = (200, 400, 800)
MEASURES = ("A", "ER", "EP", "AIC")
TUNED_AT = 200


def measure_set(chosen: EvaluationSet, progress: Progress) -> dict[str, Any]:
    """Every arm on dev and test, and the variants of the coverage packer on dev."""
    found: dict[str, Any] = {"name": chosen.name}
    for split, dataset in load_splits(chosen).items():
        with prepare(dataset, IndexSettings(profile="fine"), progress) as workspace:
            found[split] = measure_split(dataset, workspace, progress)
            found[split] |= {"index": workspace.describe(), "documents": dataset.document_count}
            found[split]["variants"] = measure_variants(dataset, workspace, progress)
    return found


def measure_split(dataset: Dataset, workspace: Workspace, progress: Progress) -> dict[str, Any]:
    """Means of every arm, and paired differences to the baseline with their intervals."""
    names = tuple(f"{measure}@{budget}tok" for budget in BUDGETS for measure in MEASURES)
    bench = Bench(dataset, workspace, RunPlan(names))
    columns = {}
    for system in make_arms():
        run = bench.run(system, progress)
        failed = [result.failed for result in run if result.failed]
        problems = [one.message for result in run for one in result.degraded]
        if failed or problems:
            raise SystemExit(f"{dataset.name}, {system.name}: {[*failed, *problems][0]}")
        columns[system.name] = score(names, dataset, run)
    return {
        "queries": len(dataset.scored),
        "digest": dataset.digest,
        "means": {arm: {name: mean_of(values[name]) for name in names} for arm, values in columns.items()},
        "gains": {
            arm: {name: compare(values[name], columns[PAIRS.get(arm, BASELINE)][name]) for name in names}
            for arm, values in columns.items()
            if arm != BASELINE
        },
        "over_bare_chunks": {
            arm: compare(columns[arm][f"A@{TUNED_AT}tok"], columns[UNPACKED][f"A@{TUNED_AT}tok"])
            for arm in (BASELINE, "coverage")
        },
    }


def mean_of(values: np.ndarray) -> float | None:
    known = values[~np.isnan(values)]
    return round(float(known.mean()), 4) if len(known) else None


def compare(values: np.ndarray, baseline: np.ndarray) -> dict[str, Any] | None:
    """The mean of the paired differences and its bootstrap interval; None where no query has both values."""
    difference = (values - baseline)[~np.isnan(values - baseline)]
    if not len(difference):
        return None
    low, high = bootstrap_ci(difference)
    wins, losses = int((difference > 0).sum()), int((difference < 0).sum())
    return {
        "mean": round(float(difference.mean()), 4),
        "interval": [round(low, 4), round(high, 4)],
        "n": len(difference),
        "wins": wins,
        "losses": losses,
    }


def measure_variants(dataset: Dataset, workspace: Workspace, progress: Progress) -> dict[str, float]:
    """A at TUNED_AT tokens of each variant of the coverage packer; what does not depend on it is computed once."""
    pipeline, totals = load("default"), dict.fromkeys(make_variants(), 0.0)
    for done, topic in enumerate(dataset.scored, 1):
        query = workspace.query(dataset.topics[topic])
        answer = pipeline.run(query, workspace.snapshot, k=4 * Coverage().pool)
        candidates = list(read_candidates(Coverage(tokens=TUNED_AT), answer.chosen, answer.snapshot))
        pool = make_pool(candidates)
        slots = QuerySlots(query, pool, answer.snapshot)
        scores, _ = Coverage().score_sentences(query, pool, slots)
        chunks = {one.citation: one.chunk for one in candidates}
        evidence = dataset.evidence[topic]
        groups = len({passage.group for passage in evidence})
        for name, settings in make_variants().items():
            packer = replace(Coverage(tokens=TUNED_AT), **settings)  # type: ignore[arg-type]
            context = packer.choose(candidates, pool, slots, scores)
            inside = BudgetContext(split_context(context, chunks)).groups(evidence)
            totals[name] += len(inside) == groups
        progress("variants", done, len(dataset.scored))
    return {name: round(total / len(dataset.scored), 4) for name, total in totals.items()}


def summarise(sets: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Macro means over the sets, the lowest intervals, and constants chosen without the set they are used on."""
    summary: dict[str, Any] = {}
    for split in ("dev", "test"):
        arms = next(iter(sets.values()))[split]["gains"]
        summary[split] = {
            arm: {
                f"A@{budget}tok": round(
                    float(np.mean([found[split]["gains"][arm][f"A@{budget}tok"]["mean"] for found in sets.values()])), 4
                )
                for budget in BUDGETS
            }
            for arm in arms
        }
    summary["lowest"] = {
        split: {
            f"A@{budget}tok": min(
                (found[split]["gains"]["coverage"][f"A@{budget}tok"]["interval"][1], name)
                for name, found in sets.items()
            )
            for budget in BUDGETS
        }
        for split in ("dev", "test")
    }
    summary["leave_one_out"] = {name: leave_out(name, sets) for name in sets} if len(sets) > 2 else {}
    held = [one["test"] for one in summary["leave_one_out"].values()]
    summary["leave_one_out_mean"] = round(float(np.mean(held)), 4) if held else None
    return summary


def leave_out(name: str, sets: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The variant that is best on dev of all other sets, and its gain over the baseline on test of this one."""
    others = [found for other, found in sets.items() if other != name]
    means = {
        variant: float(np.mean([found["dev"]["variants"][variant] for found in others]))
        for variant in make_variants()
        if variant not in ABLATIONS
    }
    best = max(means, key=lambda variant: (round(means[variant], 6), variant == "default"))
    test = sets[name]["test"]
    return {"variant": best, "test": round(test["variants"][best] - test["means"][BASELINE][f"A@{TUNED_AT}tok"], 4)}
