"""Measures the router policy: the preset as shipped, five first sources, two second ones, every trigger.

The first source is words and vectors of this store (stage 1 of the preset), words alone, the five best by words, words
above a floor, or a small store that has every fourth document; the second is a LanceDB table with the same chunks and
vectors, or a recording of a slow reranking pipeline. A threshold is the median of the values that its trigger observed
on the dev split, so that it fires for about half of the questions there; no judgement is read. The test split is
reported.

    python -m benchmarks.router                      # both sets; some ten minutes on two cores
    python -m benchmarks.router --sets scifact
    python -m benchmarks.router --record             # first record the slow second stage anew
"""

from __future__ import annotations

import argparse
import json
import os
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
from assay.bench.gates.rules import load_rules
from assay.bench.lab import file_name
from assay.bench.receipt import Receipt, write
from assay.bench.router_report import build_arms, measure_router, render_router_report
from assay.bench.router_report.assemble import router_metrics
from assay.bench.run_columns import read_columns
from assay.bench.runner import Bench, RunPlan, get_mean
from assay.bench.stats import PairedComparison
from assay.bench.systems import System, make_system
from assay.bench.types import ALL, Dataset
from assay.bench.workspace import Workspace, prepare
from assay.cli.progress import progress_bars
from assay.config.load import from_dict, read_toml
from assay.config.load import load as load_pipeline
from assay.config.plans import read_trigger
from assay.engine.answer import Answer
from assay.engine.pipeline import Pipeline
from assay.sources.open_cache import close_all
from assay.types import Query
from benchmarks.data import data_folder
from benchmarks.measure import RECEIPTS, write_receipt
from benchmarks.router_sources import SLOW, SMALL, SMALL_PIPELINE, build_sources, record_slow_stage

OUT = RECEIPTS / "router"
SETS = ("locomo_sessions", "scifact")
RECORDED = ("scifact", "test~100")
"""The questions of the recorded second stage."""
WORDS = {"legs": {"bm25": {"k": 20, "norm": "ideal"}}}
FIRSTS: Mapping[str, Mapping[str, Any]] = {
    "hybrid": tomllib.loads(read_toml("router"))["legs"]["first"],
    "words": WORDS,
    "five words": {"k": 5, **WORDS},
    "floor words": {**WORDS, "step": [{"use": "min_score", "threshold": 0.0}]},
    "small store": {"source": {"use": "store", "path": SMALL, "pipeline": SMALL_PIPELINE}},
}
FUSIONS = {"hybrid": "rrf", "words": "rrf", "five words": "append_fill", "floor words": "append_fill"}
"""First source → the fusion it is reported with; rrf where none is given."""
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


def config(
    first: str, when: Mapping[str, Any] | None, fusion: str, floor: float = 0.0, second: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The preset with another first source, trigger, fusion or second source."""
    settings = tomllib.loads(read_toml("router"))
    stage = {"k": 20, **deepcopy(dict(FIRSTS[first]))}
    if first == "floor words":
        stage["step"][0]["threshold"] = floor
    settings["legs"]["first"] = stage
    settings["legs"]["second"]["when"] = dict(when or {"use": "always"})
    if second is not None:
        settings["legs"]["second"]["source"] = dict(second)
    by = settings["fuse"]["by"]
    settings["fuse"] = {"use": fusion, "by": by, **({"max_fill": 10} if fusion == "append_fill" else {})}
    return settings


def answer_alone(pipeline: Pipeline, dev: Bench) -> Iterator[tuple[Query, Answer]]:
    """What the first source alone answers to the questions of the dev split."""
    alone = build_arms(pipeline).first.pipeline
    assert alone is not None
    for topic in dev.dataset.scored:
        query = dev.query(topic)
        yield query, alone.run(query, dev.snapshot)


def calibrate_floor(dev: Bench) -> float:
    """The median score of the third candidate by words on the dev split: about half of the questions find fewer than
    three above it."""
    pipeline = from_dict(config("words", None, "append_fill"))
    thirds = []
    for _, answer in answer_alone(pipeline, dev):
        candidates = pipeline.group_rankings({"first": answer.trace[0].ranking}, answer.snapshot)["first"]
        thirds.append(float(candidates.score[2]) if len(candidates) > 2 else 0.0)
    return round(median(thirds), 3)


def calibrate_triggers(name: str, dev: Bench, floor: float) -> dict[str, Mapping[str, Any]]:
    """Every trigger for a first source, with thresholds from the dev split."""
    chosen: dict[str, Mapping[str, Any]] = {}
    pipeline = from_dict(config(name, None, "rrf", floor))
    answers = list(answer_alone(pipeline, dev))
    for use, settings in TRIGGERS.items():
        when = {"use": use, **settings}
        if use in THRESHOLDS:
            probe, observed = read_trigger(when, "when"), []
            for query, answer in answers:
                rankings = pipeline.group_rankings({"first": answer.trace[0].ranking}, answer.snapshot)
                observed.append(probe.fires(query, rankings, answer.snapshot, pipeline.k).observed or 0.0)
            when[THRESHOLDS[use]] = round(median(observed), 3)
        chosen[use] = when
    return chosen


def count_fired(first: str, whens: Mapping[str, Mapping[str, Any]], bench: Bench, floor: float) -> dict[str, float]:
    """Trigger → the share of questions for which it asks the second source, given what the first found."""
    fired = dict.fromkeys(whens, 0)
    pipeline = from_dict(config(first, None, "rrf", floor))
    triggers = {use: read_trigger(when, "when") for use, when in whens.items()}
    for query, answer in answer_alone(pipeline, bench):
        rankings = pipeline.group_rankings({"first": answer.trace[0].ranking}, answer.snapshot)
        for use, trigger in triggers.items():
            fired[use] += trigger.fires(query, rankings, answer.snapshot, pipeline.k).yes
    return {use: count / len(bench.dataset.scored) for use, count in fired.items()}


def systems(first: str, whens: Mapping[str, Mapping[str, Any]], floor: float) -> Iterator[tuple[str, str, str, System]]:
    """(first, trigger, fusion, system)."""
    for use, when in whens.items():
        for fusion in MERGED if use == "always" else (FUSIONS.get(first, "rrf"),):
            yield (
                first,
                use,
                fusion,
                make_system(from_dict(config(first, when, fusion, floor)), f"{first} {use} {fusion}"),
            )


def run(name: str, bar: Any) -> dict[str, Any]:
    dataset, dev = load(name, "test"), load(name, "dev")
    with prepare(dataset, progress=bar.step) as workspace:
        build_sources(dataset, workspace, bar.step)
        plan = RunPlan(router_metrics(10))
        dev_bench = Bench(dev, workspace, plan)
        floor = calibrate_floor(dev_bench)
        whens = {first: calibrate_triggers(first, dev_bench, floor) for first in FIRSTS}
        alone = {first: build_arms(from_dict(config(first, None, "rrf", floor)), first) for first in FIRSTS}
        rows = [row for first in FIRSTS for row in systems(first, whens[first], floor)]
        chosen = [*(alone[first].first for first in FIRSTS), alone["words"].second, *(row[3] for row in rows)]
        receipts = lab.run(dataset, chosen, workspace, plan, out=OUT, progress=bar.step).receipts
        bench = Bench(dataset, workspace, plan)
        used = {first: count_fired(first, whens[first], bench, floor) for first in FIRSTS}
        table = [
            _build_row(first, use, fusion, system, receipts, alone[first].first.name, used[first][use])
            for first, use, fusion, system in rows
        ]
        routers = {
            "router": load_pipeline("router"),
            "router floor": from_dict(config("floor words", whens["floor words"]["fewer_than"], "append_fill", floor)),
            "router small": from_dict(config("small store", whens["small store"]["margin_below"], "rrf")),
        }
        reports = {who: report(dataset, pipeline, who, workspace, bar) for who, pipeline in routers.items()}
        if name == RECORDED[0]:
            asked = config("words", whens["words"]["margin_below"], "rrf", second={"use": "recorded", "path": SLOW})
            patient = deepcopy(asked)
            patient["budget_ms"], patient["legs"]["second"]["cap_ms"] = 4_000, 3_000
            for who, settings in (("router slow", asked), ("router slow patient", patient)):
                reports[who] = report(load(*RECORDED), from_dict(settings), who, workspace, bar)
    sources = {first: _summarise_alone(receipts[alone[first].first.name]) for first in FIRSTS}
    return {
        "questions": len(dataset.scored),
        "chunks": workspace.snapshot.size,
        "floor": floor,
        "alone": {**{f"{first} alone": observed for first, observed in sources.items()},
                  "second alone": _summarise_alone(receipts[alone["words"].second.name])},
        "triggers": table,
        "reports": reports,
    }  # fmt: skip


def report(dataset: Dataset, pipeline: Pipeline, name: str, workspace: Workspace, bar: Any) -> dict[str, Any]:
    """The whole report of one router, written; the numbers for the page."""
    measurement = measure_router(
        dataset, build_arms(pipeline, name), workspace, load_rules("router"), out=OUT, progress=bar.step
    )
    found = measurement.report
    write(measurement.gate, OUT / file_name(dataset, f"{name} gate"))
    (OUT / "reports").mkdir(exist_ok=True)
    stem = OUT / "reports" / file_name(dataset, name).removesuffix(".json")
    stem.with_name(f"{stem.name}.md").write_text(render_router_report(found), "utf-8")
    stem.with_name(f"{stem.name}.json").write_text(f"{json.dumps(found)}\n", "utf-8")
    differences = {
        row["against"].removeprefix(f"{name} "): [round(row[key], 4) for key in ("difference", "ci_low", "ci_high")]
        for row in found["compared"]
        if row.get("metric") == "R@10"
    }
    return {
        "split": dataset.split,
        "questions": found["summary"]["questions_total"],
        "counters": found["counters"],
        "R@10": round(found["summary"]["recall_at_k"], 4),
        "against": differences,
        "latency": {key: found["latency"][key] for key in ("search_ms_p50", "search_ms_p95", "stage2_ms_p50")},
        "verdict": found["verdict"]["verdict"],
    }


def record(bar: Any) -> None:
    """Record the slow second stage."""
    dataset = load(*RECORDED)
    with prepare(load(RECORDED[0], "test"), progress=bar.step) as workspace:
        record_slow_stage(Bench(dataset, workspace, RunPlan(router_metrics(10))), bar.step)


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
    first: str, use: str, fusion: str, system: System, receipts: Mapping[str, Receipt], base: str, used: float
) -> dict[str, Any]:
    """One router: how often stage 2 ran, its gain over the first source alone, and its cost."""
    receipt = receipts[system.name]
    tests = compare_columns(
        read_columns(receipts[base]), [read_columns(receipt)], [(metric, ALL) for metric in ("R@10", "nDCG@10")]
    )
    settings = {k: v for k, v in system.spec["legs"]["second"]["when"].items() if k in THRESHOLDS.values()}
    return {
        "first": first,
        "trigger": use,
        "threshold": next(iter(settings.values()), None),
        "fusion": fusion,
        "used": round(used, 4),
        "R@10": round(get_mean(receipt, "R@10") or 0.0, 4),
        "nDCG@10": round(get_mean(receipt, "nDCG@10") or 0.0, 4),
        "gain": {test.metric: _interval_of(test.paired) for test in tests},
        "ms": cost(receipt, receipts[f"{first} always {fusion}"], used),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--record", action="store_true", help="record the slow second stage anew")
    options = parser.parse_args()
    os.environ["ASSAY_DATA"] = str(data_folder().resolve())
    os.environ.setdefault("LANCE_LOG", "error")
    OUT.mkdir(parents=True, exist_ok=True)
    measured = {}
    with tempfile.TemporaryDirectory() as folder, chdir(folder), progress_bars() as bar:
        if options.record:
            record(bar)
        for name in options.sets:
            measured[name] = run(name, bar)
            close_all()  # the next set has sources of the same names
            print(json.dumps(measured[name]["alone"], indent=1), flush=True)
            for row in measured[name]["triggers"]:
                print(
                    name, row["first"], row["trigger"], row["fusion"], row["used"], row["gain"], row["ms"], flush=True
                )
    if set(options.sets) == set(SETS):
        write_receipt("router", measured)


if __name__ == "__main__":
    main()
