"""A whole run: the arms' receipts through the lab, then every question once more with a clock, then the report."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from assay.bench import lab
from assay.bench.compare import comparisons
from assay.bench.gates.check import judge
from assay.bench.gates.rules import PERCENTILES, Rules
from assay.bench.lab import file_name
from assay.bench.receipt import Receipt, ReceiptError, write
from assay.bench.router_report.arms import Arms
from assay.bench.router_report.assemble import assemble, metrics
from assay.bench.router_report.questions import Noting, RouterQuestion, failed, question
from assay.bench.run_columns import scored
from assay.bench.runner import Bench, RunPlan, ranking_digest
from assay.bench.types import ALL, Dataset
from assay.bench.workspace import Workspace
from assay.engine.pipeline import Pipeline
from assay.errors import AssayError
from assay.types import Progress


@dataclass(frozen=True)
class RouterMeasurement:
    """The report, the receipts it stands on by system, and the verdicts."""

    report: Mapping[str, Any]
    receipts: Mapping[str, Receipt]
    gate: Receipt


def measure(
    dataset: Dataset,
    arms: Arms,
    workspace: Workspace,
    rules: Rules,
    *,
    out: Path | None = None,
    clock: Callable[[], float] = time.perf_counter,
    progress: Progress = lambda *_: None,
) -> RouterMeasurement:
    """Run a router and its arms on a dataset. With `out`, receipts are written there; fitting ones are kept."""
    pipeline = arms.router.pipeline
    assert pipeline is not None
    demanded = [rule.metric for rule in rules.rules if rule.timed is None]
    plan = RunPlan(tuple(dict.fromkeys((*metrics(pipeline.k), *demanded))))
    found = dict(lab.run(dataset, list(arms), workspace, plan, out=out, progress=progress).receipts)
    bench = Bench(dataset, workspace, plan)
    questions = asked_all(bench, pipeline, clock, progress)
    receipt = _checked(found[arms.router.name], questions)
    receipt = found[arms.router.name] = _timed(receipt, questions)
    if out is not None:
        write(receipt, out / file_name(dataset, arms.router.name))
    second = found[arms.second.name]
    gate = judge(receipt, rules, second)
    report = assemble(dataset, pipeline, receipt, questions, _compared(arms, found, plan), _verdicts(gate, rules))
    return RouterMeasurement(report, found, gate)


def asked_all(
    bench: Bench, pipeline: Pipeline, clock: Callable[[], float], progress: Progress
) -> tuple[RouterQuestion, ...]:
    """Every scored question with nothing remembered, so that its times are its own."""
    topics, view = bench.dataset.scored, bench.workspace.snapshot
    rows = []
    for done, topic in enumerate(topics, 1):
        query, asker = bench.query(topic), Noting(pipeline.budget_ms)
        try:
            answer = pipeline.run(query, view, k=view.size, clock=clock, asker=asker)
            rows.append(question(pipeline, query, answer, bench.retrieved(topic, answer, pipeline.k)))
        except Exception as error:  # a plug-in's bug costs its question, never the run
            said = error.message if isinstance(error, AssayError) else error
            rows.append(failed(topic, f"{type(error).__name__}: {said}", asker.last == pipeline.legs[1].name))
        progress("questions", done, len(topics))
    return tuple(rows)


def _checked(receipt: Receipt, questions: tuple[RouterQuestion, ...]) -> Receipt:
    """The report stands on its receipt: every question got the very ranking that was scored."""
    for said, asked in zip(receipt.canonical["rankings"], questions, strict=True):
        if ranking_digest(asked.retrieved) != said:
            raise ReceiptError(
                f"query {asked.topic} was answered differently the second time", "does a source change meanwhile?"
            )
    return receipt


def _timed(receipt: Receipt, questions: tuple[RouterQuestion, ...]) -> Receipt:
    """With the times of all questions that were answered, so that recorded stages count with what was recorded."""
    times = [question.ms[0] for question in questions if not question.failed]
    if not times:
        return receipt
    seen = np.percentile(times, [50, 95, 99])
    total = {word: round(float(ms), 3) for word, ms in zip(PERCENTILES, seen, strict=True)}
    stages = {**receipt.measured.get("latency_ms", {}), "total": total}
    return replace(receipt, measured={**receipt.measured, "latency_ms": stages})


def _compared(arms: Arms, found: Mapping[str, Receipt], plan: RunPlan) -> list[dict[str, Any]]:
    """The router against each arm: mean difference, interval, p; all queries."""
    run = scored(found[arms.router.name])
    rows = []
    for arm in (arms.first, arms.second, arms.always):
        base = scored(found[arm.name])
        if base.why or run.why:
            rows.append({"against": arm.name, "not_measured": base.why or run.why})
            continue
        tests = comparisons(base, [run], [(metric, ALL) for metric in plan.metrics[:2]])
        rows += [{"against": arm.name, **test.to_dict()} for test in tests]
    return rows


def _verdicts(gate: Receipt, rules: Rules) -> dict[str, Any]:
    """What can be computed; what the clock says stands in the gate's own receipt."""
    return {"rules": rules.name, "verdict": gate.canonical["verdict"], "gates": gate.canonical["gates"]}
