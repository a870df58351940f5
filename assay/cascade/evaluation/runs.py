"""Runs systems on the held-out questions, times them in turns, and makes the lab's receipts.

The ranks in a receipt are the same on every run; times are measured.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.bench.metrics import mean, to_json
from assay.bench.receipt import Receipt, compute_digest
from assay.bench.runner import collect_versions
from assay.bench.systems import System
from assay.bench.types import ALL
from assay.cascade.bank.snapshot import BankSnapshot
from assay.cascade.evaluation.questions import DEPTH, NextVectorQuestion, largest_domain, split_by_domain
from assay.legs.ivf import nprobe_used
from assay.types import Progress

METRICS = ("Success@5", "Success@1", "Success@10", "RR@10")
_TIMED, _ROUNDS = 200, 5
"""Questions that are timed, spread over all, and how often."""
Ranks = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class CascadeRun:
    """One system: the rank of the right answer for each question (0: not found), milliseconds by step, degradations."""

    system: System
    ranks: Ranks
    ms: Mapping[str, NDArray[np.float64]]
    why: str = ""
    probed: Mapping[int, int] = field(default_factory=dict)
    """Lists read → how many questions read so many."""

    def percentile(self, step: str, q: float) -> float:
        return round(float(np.percentile(self.ms[step], q)), 3)


def run_systems(
    systems: Sequence[System],
    snapshot: BankSnapshot,
    questions: Sequence[NextVectorQuestion],
    progress: Progress = lambda *_: None,
    clock: Callable[[], float] = time.perf_counter,
) -> list[CascadeRun]:
    """Run every system on every question, then time them on some questions."""
    ranks = {system.name: np.zeros(len(questions), np.int64) for system in systems}
    degraded: dict[str, set[str]] = {system.name: set() for system in systems}
    probed: dict[str, Counter[int]] = {system.name: Counter() for system in systems}
    for place, question in enumerate(questions):
        query = question.request.to_query()
        for system in systems:
            assert system.pipeline is not None
            answer = system.pipeline.run(query, snapshot, k=DEPTH)
            ranks[system.name][place] = question.rank([int(system) for system in answer.chosen.ids.tolist()])
            degraded[system.name].update(answer.status.degraded)
            probed[system.name][nprobe_used(answer)] += 1
        progress("questions", place + 1, len(questions))
    ms = time_systems(systems, snapshot, questions, progress, clock)
    return [
        CascadeRun(
            system,
            ranks[system.name],
            ms[system.name],
            "; ".join(sorted(degraded[system.name])),
            dict(sorted(probed[system.name].items())),
        )
        for system in systems
    ]


def time_systems(
    systems: Sequence[System],
    snapshot: BankSnapshot,
    questions: Sequence[NextVectorQuestion],
    progress: Progress = lambda *_: None,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, dict[str, NDArray[np.float64]]]:
    """system → step → milliseconds of each timed question, the fastest of its rounds.

    The order of the systems rotates with question and round, so noise affects all alike.
    """
    places = np.unique(np.linspace(0, len(questions) - 1, _TIMED).astype(np.int64)).tolist()
    best: dict[str, list[dict[str, float]]] = {one.name: [{"total": np.inf}] * len(places) for one in systems}
    for turn in range(_ROUNDS):
        for number, place in enumerate(places):
            query = questions[place].request.to_query()
            shift = (2 * turn + number) % len(systems)
            for system in [*systems[shift:], *systems[:shift]]:
                assert system.pipeline is not None
                start = clock()
                answer = system.pipeline.run(query, snapshot, k=DEPTH, clock=clock)
                spent = {"total": (clock() - start) * 1000.0, **{span.name: span.ms for span in answer.trace}}
                best[system.name][number] = min(best[system.name][number], spent, key=lambda one: one["total"])
            progress("timing", turn * len(places) + number + 1, _ROUNDS * len(places))
    return {name: {step: np.array([one[step] for one in found]) for step in found[0]} for name, found in best.items()}


def score_ranks(ranks: Ranks) -> dict[str, NDArray[np.float64]]:
    """Hit@1/5/10 and the reciprocal rank of each question."""
    found = ranks > 0
    return {
        "Success@5": (found & (ranks <= 5)).astype(np.float64),
        "Success@1": (ranks == 1).astype(np.float64),
        "Success@10": found.astype(np.float64),
        "RR@10": np.where(found, 1.0 / np.maximum(ranks, 1), 0.0),
    }


def describe_dataset(snapshot: BankSnapshot, sequences: str, name: str) -> dict[str, Any]:
    """What the lab calls the dataset: this bank's held-out pairs."""
    digest = compute_digest([snapshot.bank.digest, sequences])
    return {"name": name, "split": "val", "digest": digest, "bank": snapshot.bank.digest, "sequences": sequences}


def make_receipt(
    system: Mapping[str, Any],
    ranks: Ranks,
    questions: Sequence[NextVectorQuestion],
    facts: Mapping[str, Any],
    why: str = "",
) -> Receipt:
    """A run of the lab: scores by question, strata by domain (those of enough questions), nothing timed yet."""
    strata, few = split_by_domain(questions)
    if not strata:  # a gate over no lane at all would pass: the largest is judged, and found too small
        strata = largest_domain(questions)
    scores = score_ranks(ranks)
    scopes = {ALL: list(range(len(questions))), **strata}
    return Receipt(
        "run",
        {
            **facts,
            "system": dict(system),
            "status": "not_measured" if why else "measured",
            "why": {"code": "text", "values": {"text": why}} if why else None,
            "queries": [question.name for question in questions],
            "strata": strata,
            "not_measured": {name: f"{count} questions" for name, count in few.items()},
            "scores": {name: to_json(scores[name]) for name in METRICS},
            "aggregates": {
                scope: {name: mean(scores[name][places]) for name in METRICS} for scope, places in scopes.items()
            },
        },
        {"versions": dict(collect_versions())},
    )


def latency_samples(run: CascadeRun) -> dict[str, list[float]]:
    """Milliseconds of each timed question, best of its rounds: a latency gate computes its interval from them."""
    return {step: [round(ms, 4) for ms in times.tolist()] for step, times in run.ms.items() if step == "total"}


def latency_percentiles(run: CascadeRun) -> dict[str, dict[str, float]]:
    return {step: {f"p{q}": run.percentile(step, q) for q in (50, 95, 99)} for step in run.ms}
