"""When is the second source worth asking? Two first sources, a LanceDB table as the second, every trigger.

The first source is words and meaning of this store (000's stage 1), words alone, or the five best by words; the second
is a LanceDB table with the same chunks and vectors. A threshold is the median of what its trigger saw on the dev split,
so that it would ask for about half of the questions there; no judgement is read to choose it. Reported is the test
split.

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
from assay.bench.compare import comparisons
from assay.bench.datasets import load
from assay.bench.gates.rules import load as load_rules
from assay.bench.lab import file_name
from assay.bench.receipt import Receipt, write
from assay.bench.router_report import arms, make_table, markdown, measure
from assay.bench.router_report.assemble import metrics
from assay.bench.router_report.measure import asked_all
from assay.bench.run_columns import scored
from assay.bench.runner import Bench, RunPlan, aggregate
from assay.bench.stats import Paired
from assay.bench.systems import System, of
from assay.bench.types import ALL
from assay.bench.workspace import prepare
from assay.cli.progress import bars
from assay.config.load import from_dict, source
from assay.config.plans import trigger
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
SEEN = {"top_score_below": "score", "margin_below": "margin", "term_coverage_below": "share"}
"""Triggers with a threshold that is taken from the dev split."""
MERGED = ("append_fill", "rrf", "weighted_merge")


def config(first: str, when: Mapping[str, Any] | None, fusion: str) -> dict[str, Any]:
    """The preset with another first source, trigger and fusion, one candidate per document."""
    found = tomllib.loads(source("router"))
    found["legs"]["first"] = {"k": 20, **deepcopy(dict(FIRSTS[first]))}
    found["legs"]["second"]["when"] = dict(when or {"use": "always"})
    found["fuse"] = {"use": fusion, "by": "doc_id", **({"max_fill": 10} if fusion == "append_fill" else {})}
    return found


def calibrated(name: str, dev: Bench) -> dict[str, Mapping[str, Any]]:
    """Every trigger of a first source, thresholds from the dev split."""
    chosen: dict[str, Mapping[str, Any]] = {}
    for use, settings in TRIGGERS.items():
        when = {"use": use, **settings}
        if use in SEEN:
            pipeline = from_dict(config(name, when, "rrf"))
            alone, probe = arms(pipeline).first.pipeline, trigger(when, "when")
            assert alone is not None
            seen = []
            for topic in dev.dataset.scored:
                query = dev.query(topic)
                found = {"first": alone.run(query, dev.snapshot).trace[0].gave}
                fired = probe.fires(query, pipeline.counted(found, dev.snapshot), dev.snapshot, pipeline.k)
                seen.append(fired.observed or 0.0)
            when[SEEN[use]] = round(median(seen), 3)
        chosen[use] = when
    return chosen


def systems(first: str, whens: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str, str, System]]:
    """(first, trigger, fusion, system)."""
    for use, when in whens.items():
        for fusion in MERGED if use == "always" else MERGED[:2]:
            yield first, use, fusion, of(from_dict(config(first, when, fusion)), f"{first} {use} {fusion}")


def run(name: str, bar: Any) -> dict[str, Any]:
    dataset, dev = load(name, "test"), load(name, "dev")
    with prepare(dataset, progress=bar.step) as workspace:
        make_table(workspace, from_dict(config("words", None, "rrf")), bar.step)
        plan = RunPlan(metrics(10))
        whens = {first: calibrated(first, Bench(dev, workspace, plan)) for first in FIRSTS}
        alone = {first: arms(from_dict(config(first, None, "rrf")), first) for first in FIRSTS}
        rows = [row for first in FIRSTS for row in systems(first, whens[first])]
        chosen = [*(alone[first].first for first in FIRSTS), alone["words"].second, *(row[3] for row in rows)]
        found = lab.run(dataset, chosen, workspace, plan, out=OUT, progress=bar.step).receipts
        bench = Bench(dataset, workspace, plan)
        table = [_row(first, use, fusion, system, found, alone[first].first.name, bench, bar)
                 for first, use, fusion, system in rows]  # fmt: skip
        preset = from_dict(config("hybrid", whens["hybrid"]["fewer_than"], "append_fill"), "router")
        whole = measure(dataset, arms(preset, "router"), workspace, load_rules("router"), out=OUT, progress=bar.step)
    write(whole.gate, OUT / file_name(dataset, "router gate"))
    (OUT / "reports").mkdir(exist_ok=True)
    (OUT / "reports" / f"{name}.test.router.md").write_text(markdown(whole.report, whole.gate.measured), "utf-8")
    (OUT / "reports" / f"{name}.test.router.json").write_text(f"{json.dumps(whole.report)}\n", "utf-8")
    sources = {first: _alone(found[alone[first].first.name]) for first in FIRSTS}
    return {
        "questions": len(dataset.scored),
        "chunks": workspace.snapshot.size,
        "alone": {**{f"{first} alone": seen for first, seen in sources.items()},
                  "second alone": _alone(found[alone["words"].second.name])},
        "triggers": table,
    }  # fmt: skip


def _alone(receipt: Receipt) -> dict[str, Any]:
    times = receipt.measured["latency_ms"]["total"]
    means = {metric: round(aggregate(receipt, metric) or 0.0, 4) for metric in ("R@10", "nDCG@10")}
    return {**means, "p50_ms": times["p50"], "p95_ms": times["p95"]}


def cost(receipt: Receipt, always: Receipt, used: float) -> dict[str, float]:
    """From the lab's clock, which lets systems take turns: the whole, and what stage 2 costs a question on average."""
    total, second = receipt.measured["latency_ms"]["total"], always.measured["latency_ms"]["second"]
    return {"p50": total["p50"], "p95": total["p95"], "stage2": round(used * second["p50"], 2)}


def _interval(found: Paired) -> list[float]:
    return [round(value, 4) + 0.0 for value in (found.difference, found.ci_low, found.ci_high)]


def _row(
    first: str,
    use: str,
    fusion: str,
    system: System,
    found: Mapping[str, Receipt],
    base: str,
    bench: Bench,
    bar: Any,
) -> dict[str, Any]:
    """One router: how often it asked, what that gained against the first source alone, and what it cost."""
    assert system.pipeline is not None
    receipt = found[system.name]
    questions = asked_all(bench, system.pipeline, lambda: 0.0, bar.step)
    used = sum(question.facts["stage2_used"] for question in questions)
    tests = comparisons(scored(found[base]), [scored(receipt)], [(metric, ALL) for metric in ("R@10", "nDCG@10")])
    settings = {k: v for k, v in system.spec["legs"]["second"]["when"].items() if k in SEEN.values()}
    return {
        "first": first,
        "trigger": use,
        "threshold": next(iter(settings.values()), None),
        "fusion": fusion,
        "used": round(used / len(questions), 4),
        "added": round(sum(question.facts["stage2_added_count"] for question in questions) / len(questions), 3),
        "R@10": round(aggregate(receipt, "R@10") or 0.0, 4),
        "nDCG@10": round(aggregate(receipt, "nDCG@10") or 0.0, 4),
        "gain": {test.metric: _interval(test.paired) for test in tests},
        "ms": cost(receipt, found[f"{first} always {fusion}"], used / len(questions)),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=SETS)
    options = parser.parse_args()
    os.environ["ASSAY_DATA"] = str(data_folder().resolve())
    os.environ.setdefault("LANCE_LOG", "error")
    OUT.mkdir(parents=True, exist_ok=True)
    measured = {}
    with tempfile.TemporaryDirectory() as folder, chdir(folder), bars() as bar:
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
