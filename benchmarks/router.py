"""Measures the router policy: three first sources, a LanceDB table as the second, every trigger.

The first source is words and vectors of this store (stage 1 of the router policy), words alone, or the five best by
words; the second is a LanceDB table with the same chunks and vectors. A threshold is the median of the values that its
trigger observed on the dev split, so that it fires for about half of the questions there; no judgement is read. The
test split is reported.

    python -m benchmarks.router                      # both sets; some ten minutes on two cores
    python -m benchmarks.router --sets scifact
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import chdir
from copy import deepcopy
from statistics import median
from typing import Any

from assay.bench import lab
from assay.bench.compare import compare_columns
from assay.bench.datasets import load
from assay.bench.gates.rules import load_rules as load_rules
from assay.bench.lab import file_name
from assay.bench.receipt import Receipt, write
from assay.bench.router_report import build_arms, measure_router, render_router_report, write_lance_table
from assay.bench.router_report.assemble import router_metrics
from assay.bench.router_report.measure import run_questions
from assay.bench.run_columns import read_columns
from assay.bench.runner import Bench, RunPlan, get_mean
from assay.bench.stats import PairedComparison
from assay.bench.systems import System, make_system
from assay.bench.types import ALL
from assay.bench.workspace import prepare
from assay.cli.progress import progress_bars
from assay.config.load import from_dict, read_toml
from assay.config.plans import read_trigger
from benchmarks.data import data_folder
from benchmarks.measure import RECEIPTS, write_receipt

OUT = RECEIPTS / "router"
SETS = ("locomo_sessions", "scifact")
FIRSTS: Mapping[str, Mapping[str, Any]] = {
    "hybrid": {"legs": {"bm25": {"k": 20}, "dense": {"k": 20}}, "fuse": {"use": "rrf", "c": 60.0}},
    "words": {"legs": {"bm25": {"k": 20, "norm": "ideal"}}},
    "five words": {"k": 5, "legs": {"bm25": {"k": 20, "norm": "ideal"}}},
}
TRIGGERS: Mapping[str, Mapping[str, Any]] = {
    "fewer_than": {"count": 3},
    "fill_to_k": {},
    "top_score_below": {"score": 1.0},
    "margin_below": {"margin": 1.0},
    "term_coverage_below": {"share": 1.0, "top": 3},
    "always": {},
}
THRESHOLDS = {"top_score_below": "score", "margin_below": "margin", "term_coverage_below": "share"}
"""Trigger → its threshold, which is taken from the dev split."""
MERGED = ("append_fill", "rrf", "weighted_merge")


def config(first: str, when: Mapping[str, Any] | None, fusion: str) -> dict[str, Any]:
    """The preset with another first source, trigger and fusion, one candidate per document."""
    receipts = tomllib.loads(read_toml("router"))
    receipts["legs"]["first"] = {"k": 20, **deepcopy(dict(FIRSTS[first]))}
    receipts["legs"]["second"]["when"] = dict(when or {"use": "always"})
    receipts["fuse"] = {"use": fusion, "by": "doc_id", **({"max_fill": 10} if fusion == "append_fill" else {})}
    return receipts


def calibrate_triggers(name: str, dev: Bench) -> dict[str, Mapping[str, Any]]:
    """Every trigger for a first source, with thresholds from the dev split."""
    chosen: dict[str, Mapping[str, Any]] = {}
    for use, settings in TRIGGERS.items():
        when = {"use": use, **settings}
        if use in THRESHOLDS:
            pipeline = from_dict(config(name, when, "rrf"))
            alone, probe = build_arms(pipeline).first.pipeline, read_trigger(when, "when")
            assert alone is not None
            observed = []
            for topic in dev.dataset.scored:
                query = dev.query(topic)
                receipts = {"first": alone.run(query, dev.snapshot).trace[0].ranking}
                fired = probe.fires(query, pipeline.group_rankings(receipts, dev.snapshot), dev.snapshot, pipeline.k)
                observed.append(fired.observed or 0.0)
            when[THRESHOLDS[use]] = round(median(observed), 3)
        chosen[use] = when
    return chosen


def systems(first: str, whens: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str, str, System]]:
    """(first, trigger, fusion, system)."""
    for use, when in whens.items():
        for fusion in MERGED if use == "always" else MERGED[:2]:
            yield first, use, fusion, make_system(from_dict(config(first, when, fusion)), f"{first} {use} {fusion}")


def run(name: str, bar: Any) -> dict[str, Any]:
    dataset, dev = load(name, "test"), load(name, "dev")
    with prepare(dataset, progress=bar.step) as workspace:
        write_lance_table(workspace, from_dict(config("words", None, "rrf")), bar.step)
        plan = RunPlan(router_metrics(10))
        whens = {first: calibrate_triggers(first, Bench(dev, workspace, plan)) for first in FIRSTS}
        alone = {first: build_arms(from_dict(config(first, None, "rrf")), first) for first in FIRSTS}
        rows = [row for first in FIRSTS for row in systems(first, whens[first])]
        chosen = [*(alone[first].first for first in FIRSTS), alone["words"].second, *(row[3] for row in rows)]
        receipts = lab.run(dataset, chosen, workspace, plan, out=OUT, progress=bar.step).receipts
        bench = Bench(dataset, workspace, plan)
        table = [_build_row(first, use, fusion, system, receipts, alone[first].first.name, bench, bar)
                 for first, use, fusion, system in rows]  # fmt: skip
        preset = from_dict(config("hybrid", whens["hybrid"]["fewer_than"], "append_fill"), "router")
        measurement = measure_router(
            dataset, build_arms(preset, "router"), workspace, load_rules("router"), out=OUT, progress=bar.step
        )
    write(measurement.gate, OUT / file_name(dataset, "router gate"))
    (OUT / "reports").mkdir(exist_ok=True)
    (OUT / "reports" / f"{name}.test.router.md").write_text(render_router_report(measurement.report), "utf-8")
    (OUT / "reports" / f"{name}.test.router.json").write_text(f"{json.dumps(measurement.report)}\n", "utf-8")
    sources = {first: _summarise_alone(receipts[alone[first].first.name]) for first in FIRSTS}
    return {
        "questions": len(dataset.scored),
        "chunks": workspace.snapshot.size,
        "alone": {**{f"{first} alone": observed for first, observed in sources.items()},
                  "second alone": _summarise_alone(receipts[alone["words"].second.name])},
        "triggers": table,
    }  # fmt: skip


def _summarise_alone(receipt: Receipt) -> dict[str, Any]:
    times = receipt.measured["latency_ms"]["total"]
    means = {metric: round(get_mean(receipt, metric) or 0.0, 4) for metric in ("R@10", "nDCG@10")}
    return {**means, "p50_ms": times["p50"], "p95_ms": times["p95"]}


def cost(receipt: Receipt, always: Receipt, used: float) -> dict[str, float]:
    """Latency from the lab, where systems alternate: the total, and the average cost of stage 2 per question."""
    total, second = receipt.measured["latency_ms"]["total"], always.measured["latency_ms"]["second"]
    return {"p50": total["p50"], "p95": total["p95"], "stage2": round(used * second["p50"], 2)}


def _interval_of(receipts: PairedComparison) -> list[float]:
    return [round(value, 4) + 0.0 for value in (receipts.difference, receipts.ci_low, receipts.ci_high)]


def _build_row(
    first: str,
    use: str,
    fusion: str,
    system: System,
    receipts: Mapping[str, Receipt],
    base: str,
    bench: Bench,
    bar: Any,
) -> dict[str, Any]:
    """One router: how often stage 2 ran, its gain over the first source alone, and its cost."""
    assert system.pipeline is not None
    receipt = receipts[system.name]
    questions = run_questions(bench, system.pipeline, lambda: 0.0, bar.step)
    used = sum(question.facts["stage2_used"] for question in questions)
    tests = compare_columns(
        read_columns(receipts[base]), [read_columns(receipt)], [(metric, ALL) for metric in ("R@10", "nDCG@10")]
    )
    settings = {k: v for k, v in system.spec["legs"]["second"]["when"].items() if k in THRESHOLDS.values()}
    return {
        "first": first,
        "trigger": use,
        "threshold": next(iter(settings.values()), None),
        "fusion": fusion,
        "used": round(used / len(questions), 4),
        "added": round(sum(question.facts["stage2_added_count"] for question in questions) / len(questions), 3),
        "R@10": round(get_mean(receipt, "R@10") or 0.0, 4),
        "nDCG@10": round(get_mean(receipt, "nDCG@10") or 0.0, 4),
        "gain": {test.metric: _interval_of(test.paired) for test in tests},
        "ms": cost(receipt, receipts[f"{first} always {fusion}"], used / len(questions)),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=SETS)
    options = parser.parse_args()
    os.environ["ASSAY_DATA"] = str(data_folder().resolve())
    os.environ.setdefault("LANCE_LOG", "error")
    OUT.mkdir(parents=True, exist_ok=True)
    measured = {}
    with tempfile.TemporaryDirectory() as folder, chdir(folder), progress_bars() as bar:
        for name in options.sets:
            shutil.rmtree("second.lance", ignore_errors=True)
            measured[name] = run(name, bar)
            print(json.dumps(measured[name]["alone"], indent=1), flush=True)
            for row in measured[name]["triggers"]:
                print(
                    name, row["first"], row["trigger"], row["fusion"], row["used"], row["gain"], row["ms"], flush=True
                )
    if set(options.sets) == set(SETS):
        write_receipt("router", measured)


if __name__ == "__main__":
    main()
