"""Measures two stages of weighted fusion: a rerank over the fused top 25 under its own gate, and the importance prior.

The sets have no importance of their own, so the prior is measured at its bounds. `random` gives every document a seeded
importance that knows nothing: what the prior costs. `oracle` gives 1 to documents that are relevant to any question and
0 to the others: the most that it could gain. Real values lie between.

    python -m benchmarks.weighted_stages                  # receipts/weighted_stages.json
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from assay.bench import lab
from assay.bench.datasets import load
from assay.bench.gates.rules import load_rules
from assay.bench.gates.verdicts import judge_receipt
from assay.bench.metrics import mean
from assay.bench.metrics.scoring import score
from assay.bench.runner import Bench, RunPlan, get_mean
from assay.bench.stats.paired import compare_pair
from assay.bench.systems import load_system
from assay.bench.types import Dataset, TopicResult
from assay.bench.workspace import Workspace, prepare
from assay.cli.progress import progress_bars
from assay.config.load import load as load_pipeline
from benchmarks.measure import write_receipt

SETS = ("scifact",)
RECIPE = str(Path(__file__).parent / "recipes" / "weighted+rerank.toml")
METRIC = "nDCG@10"
BASE = 0.7


def run(name: str, bar: Any) -> dict[str, Any]:
    dataset = load(name, "test")
    with prepare(dataset, progress=bar.step) as workspace:
        return {
            "questions": len(dataset.scored),
            "rerank": measure_rerank(dataset, workspace, bar),
            "importance": measure_importance(dataset, workspace, bar),
        }


def measure_rerank(dataset: Dataset, workspace: Workspace, bar: Any) -> dict[str, Any]:
    """The preset with and without the rerank, timed in turns, under the gate `rerank`."""
    systems = [load_system("weighted"), load_system(RECIPE)]
    receipts = lab.run(dataset, systems, workspace, RunPlan((METRIC, "R@10")), progress=bar.step).receipts
    base, other = (receipts[system.name] for system in systems)
    gate = judge_receipt(other, load_rules("rerank"), base)
    return {
        "weighted": round(get_mean(base, METRIC) or 0.0, 4),
        "weighted+rerank": round(get_mean(other, METRIC) or 0.0, 4),
        "p95_ms": {system.name: receipts[system.name].measured["latency_ms"]["total"]["p95"] for system in systems},
        "verdict": gate.measured["verdict"],
        "gates": {
            one["name"]: [one["verdict"], one["why"]] for one in (*gate.canonical["gates"], *gate.measured["gates"])
        },
    }


def measure_importance(dataset: Dataset, workspace: Workspace, bar: Any) -> dict[str, Any]:
    """The fused ranking as it is, and under the prior with three kinds of importance."""
    pipeline = replace(load_pipeline("weighted"), steps=())
    relevant = {name for judged in dataset.judgements.values() for name, grade in judged.items() if grade > 0}
    kinds: dict[str, Callable[[str], float]] = {
        "none": lambda _: 1.0,
        "random": _draw,
        "oracle": lambda name: float(name in relevant),
    }
    bench = Bench(dataset, workspace, RunPlan((METRIC,)))
    results: dict[str, list[TopicResult]] = {kind: [] for kind in kinds}
    for done, topic in enumerate(dataset.scored, 1):
        fused = bench.collect(topic, pipeline.run(bench.query(topic), bench.snapshot, k=300), 10)
        for kind, importance in kinds.items():
            scored = [
                (-(BASE + (1.0 - BASE) * importance(name)) * value, place, name)
                for place, (name, value) in enumerate(zip(fused.documents, fused.scores, strict=True))
            ]
            ordered = sorted(scored)
            names, values = tuple(one[2] for one in ordered), tuple(-one[0] for one in ordered)
            results[kind].append(TopicResult(topic, names, values))
        bar.step("importance", done, len(dataset.scored))
    columns = {kind: score((METRIC,), dataset, found)[METRIC] for kind, found in results.items()}
    report: dict[str, Any] = {}
    for kind, column in columns.items():
        test = compare_pair(columns["none"], column)
        report[kind] = {
            METRIC: round(mean(column) or 0.0, 4),
            "difference": [round(value, 4) + 0.0 for value in (test.difference, test.ci_low, test.ci_high)],
        }
    return report


def _draw(name: str) -> float:
    """A number from 0 to 1 that depends on the document's id alone."""
    return int(hashlib.sha256(name.encode()).hexdigest()[:8], 16) / 0xFFFFFFFF


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=SETS)
    options = parser.parse_args()
    with progress_bars() as bar:
        write_receipt("weighted_stages", {name: run(name, bar) for name in options.sets})


if __name__ == "__main__":
    main()
