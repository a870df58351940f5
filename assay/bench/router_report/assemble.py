"""Assembles the JSON report of the router policy from a run's receipt and the questions' metadata.

`digest` covers everything but the measured times: `latency`, `latency_ms` and the stages' milliseconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from assay.bench.messages import failures
from assay.bench.receipt import Receipt, compute_digest
from assay.bench.router_report.arms import describe_config
from assay.bench.router_report.questions import COUNTERS, RouterQuestion
from assay.bench.types import Dataset
from assay.engine.pipeline import Pipeline
from assay.fuse.grouped import Grouped

SCHEMA = "assay/router-report/v1"
SUMMARY: Mapping[str, str] = {
    "hit_at_k": "Success",
    "precision_at_k": "P",
    "recall_at_k": "R",
    "recall_all_at_k": "AllR",
    "mrr": "RR",
    "ndcg_at_k": "nDCG",
}
"""Names of the router policy → the lab's metrics."""
LONGMEMEVAL = "longmemeval"
SAMPLED = 50
HOW = "assay bench router longmemeval:longmemeval_s.json --split all~50 --make-table"


def router_metrics(k: int) -> tuple[str, ...]:
    return tuple(f"{name}@{k}" for name in ("R", "nDCG", "RR", "Success", "AllR", "P"))


def assemble_report(
    dataset: Dataset,
    pipeline: Pipeline,
    receipt: Receipt,
    questions: Sequence[RouterQuestion],
    compared: Sequence[Mapping[str, Any]],
    gates: Mapping[str, Any],
) -> dict[str, Any]:
    """The report without its verdict. `compared` are differences to the other arms, `gates` the reproducible gates.

    A failed question is listed under `failures`, not under `results`: who reads the report as a recorded source must
    not mistake it for an empty result.
    """
    canonical = receipt.canonical
    k = pipeline.k
    names = {name: f"{metric}@{k}" for name, metric in SUMMARY.items()}
    counted = Counter(question.facts["outcome"] for question in questions)
    fields: tuple[str, ...] = (*pipeline.fuser.fields, "") if isinstance(pipeline.fuser, Grouped) else ()
    keys = {field: sum(question.keys.get(field, 0) for question in questions) for field in fields}
    body: dict[str, Any] = {
        "schema": SCHEMA,
        "dataset": canonical["dataset"],
        "top_k": k,
        "config": describe_config(pipeline),
        "counters": {name: counted[name] for name in COUNTERS},
        "candidates": keys,
        "summary": {
            "questions_total": len(questions),
            "questions_failed": len(canonical["failed"]),
            "questions_without_answer": len(dataset.abstain),
            "stage1_late": sum(question.facts["stage1_late"] for question in questions),
            **{name: canonical["aggregates"]["all"].get(metric) for name, metric in names.items()},
        },
        "compared": list(compared),
        "gates": dict(gates),
        "longmemeval_50": describe_longmemeval(dataset),
        "receipt": receipt.digest,
        "failures": [{"question_id": name, "error": why} for name, why in failures(receipt).items()],
        "results": [
            {
                "question_id": question.topic,
                "strata": list(dataset.topics[question.topic].strata),
                "relevant_session_ids": sorted(d for d, g in dataset.judgements[question.topic].items() if g > 0),
                "retrieved_session_ids": list(question.retrieved.documents[:k]),
                "retrieved_scores": list(question.retrieved.scores[:k]),
                "metrics": {name: canonical["scores"][metric][place] for name, metric in names.items()},
                "two_stage": question.facts,
            }
            for place, question in enumerate(questions)
            if not question.failed
        ],
    }
    return {
        **_add_latency(body, [question for question in questions if not question.failed]),
        "digest": compute_digest(body),
    }


def _add_latency(body: Mapping[str, Any], questions: Sequence[RouterQuestion]) -> dict[str, Any]:
    """The report with the latencies of the questions that were answered, in all and one by one."""
    results = []
    for row, question in zip(body["results"], questions, strict=True):
        total, first, second = (round(ms, 3) for ms in question.ms)
        stages = {**row["two_stage"], "stage1_latency_ms": first, "stage2_latency_ms": second}
        results.append({**row, "two_stage": stages, "latency_ms": total})
    return {**body, "latency": summarise_latency(questions), "results": results}


def summarise_latency(questions: Sequence[RouterQuestion]) -> dict[str, float | None]:
    """p50, p95 and mean of the search and of each stage, in milliseconds. Stage 2 counts the questions that reached it;
    None if there are none."""
    found: dict[str, float | None] = {}
    stage2_questions = [question for question in questions if question.facts["outcome"] != "stage2_not_triggered"]
    for name, place, of in (("search", 0, questions), ("stage1", 1, questions), ("stage2", 2, stage2_questions)):
        times = np.array([question.ms[place] for question in of])
        for word, statistic in (("p50", _percentile(50)), ("p95", _percentile(95)), ("mean", np.mean)):
            found[f"{name}_ms_{word}"] = round(float(statistic(times)), 3) if len(times) else None
    return found


def _percentile(share: int) -> Callable[[Any], Any]:
    return lambda times: np.percentile(times, share)


def describe_longmemeval(dataset: Dataset) -> dict[str, Any]:
    """Whether this run has the size and format of LongMemEval-50, for which the router policy is specified.

    The policy does not list its fifty questions, so a run of fifty is called a sample, whatever file it is of.
    """
    run_name, questions = f"{dataset.name}/{dataset.split}", len(dataset.scored) + len(dataset.abstain)
    if not dataset.source.startswith(f"{LONGMEMEVAL}:"):
        why = f"LongMemEval-50 was not measured: its data is not at hand; this is {run_name}"
    elif questions != SAMPLED:
        why = (
            f"LongMemEval-50 was not measured: this is {run_name} with {questions} questions, not a sample of {SAMPLED}"
        )
    else:
        why = (
            f"This is a {SAMPLED}-question sample of {dataset.source}, {dataset.split}; the policy does not list the "
            f"questions of LongMemEval-50, so it is not known to be the same {SAMPLED}"
        )
        return {"measured": True, "why": why, "how": HOW}
    return {"measured": False, "why": why, "how": HOW}
