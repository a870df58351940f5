"""Measures a router: the arms' receipts in the lab, then every question again with a clock, then the report."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from assay.bench import lab
from assay.bench.compare import compare_columns
from assay.bench.gates.rules import PERCENTILES, RuleSet
from assay.bench.gates.verdicts import judge_receipt
from assay.bench.lab import file_name
from assay.bench.receipt import Receipt, ReceiptError, write
from assay.bench.router_report.arms import RouterArms
from assay.bench.router_report.assemble import assemble_report, router_metrics
from assay.bench.router_report.questions import LastJobExecutor, RouterQuestion, build_question, failed_question
from assay.bench.router_report.verdict import decide_verdict
from assay.bench.run_columns import read_columns
from assay.bench.runner import Bench, RunPlan, digest_ranking
from assay.bench.types import ALL, Dataset
from assay.bench.workspace import Workspace
from assay.engine.pipeline import Pipeline
from assay.errors import AssayError
from assay.types import Progress


@dataclass(frozen=True)
class RouterMeasurement:
    """The report, its receipts by system, and the verdicts."""

    report: Mapping[str, Any]
    receipts: Mapping[str, Receipt]
    gate: Receipt


def measure_router(
    dataset: Dataset,
    arms: RouterArms,
    workspace: Workspace,
    rules: RuleSet,
    *,
    out: Path | None = None,
    clock: Callable[[], float] = time.perf_counter,
    progress: Progress = lambda *_: None,
) -> RouterMeasurement:
    """Run a router and its arms on a dataset. With `out`, receipts are written there and valid ones reused."""
    pipeline = arms.router.pipeline
    assert pipeline is not None
    demanded = [rule.metric for rule in rules.rules if rule.timed is None]
    plan = RunPlan(tuple(dict.fromkeys((*router_metrics(pipeline.k), *demanded))))
    found = dict(lab.run(dataset, list(arms), workspace, plan, out=out, progress=progress).receipts)
    bench = Bench(dataset, workspace, plan)
    questions = run_questions(bench, pipeline, clock, progress)
    receipt = _check_rankings(found[arms.router.name], questions)
    receipt = found[arms.router.name] = _add_latency(receipt, questions)
    if out is not None:
        write(receipt, out / file_name(dataset, arms.router.name))
    second = found[arms.second.name]
    gate = judge_receipt(receipt, rules, second)
    compared = _compare_arms(arms, found, plan, demanded)
    gates = {"rules": rules.name, "gates": gate.canonical["gates"]}
    report = assemble_report(dataset, pipeline, receipt, questions, compared, gates)
    return RouterMeasurement({"verdict": decide_verdict(gate, compared, arms.second.name), **report}, found, gate)


def run_questions(
    bench: Bench, pipeline: Pipeline, clock: Callable[[], float], progress: Progress
) -> tuple[RouterQuestion, ...]:
    """Run every scored question without caches, so that times are independent."""
    topics, view = bench.dataset.scored, bench.workspace.snapshot
    rows = []
    for done, topic in enumerate(topics, 1):
        query, executor = bench.query(topic), LastJobExecutor(pipeline.budget_ms)
        try:
            answer = pipeline.run(query, view, k=view.size, clock=clock, executor=executor)
            rows.append(build_question(pipeline, query, answer, bench.collect(topic, answer, pipeline.k)))
        except Exception as error:  # a bug of a plug-in fails its question, never the run
            message = error.message if isinstance(error, AssayError) else error
            rows.append(
                failed_question(topic, f"{type(error).__name__}: {message}", executor.last == pipeline.legs[1].name)
            )
        progress("questions", done, len(topics))
    return tuple(rows)


def _check_rankings(receipt: Receipt, questions: tuple[RouterQuestion, ...]) -> Receipt:
    """Check that every question got the ranking that was scored in the receipt."""
    for digest, question in zip(receipt.canonical["rankings"], questions, strict=True):
        if digest_ranking(question.retrieved) != digest:
            raise ReceiptError(
                f"query {question.topic} was answered differently the second time", "does a source change meanwhile?"
            )
    return receipt


def _add_latency(receipt: Receipt, questions: tuple[RouterQuestion, ...]) -> Receipt:
    """Add the times of all answered questions; recorded stages count with their recorded times."""
    times = [question.ms[0] for question in questions if not question.failed]
    if not times:
        return receipt
    percentiles = np.percentile(times, [50, 95, 99])
    total = {word: round(float(ms), 3) for word, ms in zip(PERCENTILES, percentiles, strict=True)}
    stages = {**receipt.measured.get("latency_ms", {}), "total": total}
    return replace(receipt, measured={**receipt.measured, "latency_ms": stages})


def _compare_arms(
    arms: RouterArms, found: Mapping[str, Receipt], plan: RunPlan, demanded: Sequence[str]
) -> list[dict[str, Any]]:
    """The router against each arm: mean difference, interval, p; all queries. Recall that a rule demands is compared,
    so that its loss is quantified."""
    metrics = dict.fromkeys((*plan.metrics[:2], *(metric for metric in demanded if metric.startswith("R@"))))
    run = read_columns(found[arms.router.name])
    rows = []
    for arm in (arms.first, arms.second, arms.always):
        base = read_columns(found[arm.name])
        if base.why or run.why:
            rows.append({"against": arm.name, "not_measured": base.why or run.why})
            continue
        tests = compare_columns(base, [run], [(metric, ALL) for metric in metrics])
        rows += [{"against": arm.name, **test.to_dict()} for test in tests]
    return rows
