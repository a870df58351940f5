"""Systems answer the held-out questions, then take turns under the clock; each run becomes a receipt of the lab.

What a receipt says of ranks is the same on every run; what it says of time is measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.bench.metrics import mean, to_json
from assay.bench.receipt import Receipt, digest_of
from assay.bench.runner import versions
from assay.bench.systems import System
from assay.bench.types import ALL
from assay.cascade.bank.snapshot import BankSnapshot
from assay.cascade.evaluation.questions import DEPTH, NextVectorQuestion, lanes, largest
from assay.types import Progress

METRICS = ("Success@5", "Success@1", "Success@10", "RR@10")
_TIMED, _ROUNDS = 200, 3
"""Questions that are timed, spread over all, and how often."""
Ranks = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Run:
    """One system: the rank of the truth for each question (0: not found), milliseconds by step, what degraded it."""

    system: System
    ranks: Ranks
    ms: Mapping[str, NDArray[np.float64]]
    why: str = ""

    def percentile(self, step: str, q: float) -> float:
        return round(float(np.percentile(self.ms[step], q)), 3)


def answered(
    systems: Sequence[System],
    snapshot: BankSnapshot,
    asked: Sequence[NextVectorQuestion],
    progress: Progress = lambda *_: None,
    clock: Callable[[], float] = time.perf_counter,
) -> list[Run]:
    """Every system on every question; then the clock, on some of them, in turns."""
    ranks = {one.name: np.zeros(len(asked), np.int64) for one in systems}
    degraded: dict[str, set[str]] = {one.name: set() for one in systems}
    for place, question in enumerate(asked):
        query = question.ask.query()
        for system in systems:
            assert system.pipeline is not None
            answer = system.pipeline.run(query, snapshot, k=DEPTH)
            ranks[system.name][place] = question.rank([int(one) for one in answer.chosen.ids.tolist()])
            degraded[system.name].update(answer.verdict.degraded)
        progress("questions", place + 1, len(asked))
    ms = timed(systems, snapshot, asked, progress, clock)
    return [Run(one, ranks[one.name], ms[one.name], "; ".join(sorted(degraded[one.name]))) for one in systems]


def timed(
    systems: Sequence[System],
    snapshot: BankSnapshot,
    asked: Sequence[NextVectorQuestion],
    progress: Progress = lambda *_: None,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, dict[str, NDArray[np.float64]]]:
    """system → step → milliseconds of each timed question, of its rounds the fastest.

    Who goes first changes from question to question and from round to round, so noise falls on all alike.
    """
    places = np.unique(np.linspace(0, len(asked) - 1, _TIMED).astype(np.int64)).tolist()
    best: dict[str, list[dict[str, float]]] = {one.name: [{"total": np.inf}] * len(places) for one in systems}
    for turn in range(_ROUNDS):
        for number, place in enumerate(places):
            query = asked[place].ask.query()
            shift = (2 * turn + number) % len(systems)
            for system in [*systems[shift:], *systems[:shift]]:
                assert system.pipeline is not None
                start = clock()
                answer = system.pipeline.run(query, snapshot, k=DEPTH, clock=clock)
                spent = {"total": (clock() - start) * 1000.0, **{span.name: span.ms for span in answer.trace}}
                best[system.name][number] = min(best[system.name][number], spent, key=lambda one: one["total"])
            progress("timing", turn * len(places) + number + 1, _ROUNDS * len(places))
    return {name: {step: np.array([one[step] for one in found]) for step in found[0]} for name, found in best.items()}


def columns(ranks: Ranks) -> dict[str, NDArray[np.float64]]:
    """Hit@1/5/10 and the reciprocal rank of each question."""
    found = ranks > 0
    return {
        "Success@5": (found & (ranks <= 5)).astype(np.float64),
        "Success@1": (ranks == 1).astype(np.float64),
        "Success@10": found.astype(np.float64),
        "RR@10": np.where(found, 1.0 / np.maximum(ranks, 1), 0.0),
    }


def dataset_of(snapshot: BankSnapshot, sequences: str, name: str) -> dict[str, Any]:
    """What the lab calls the dataset: this bank's held-out pairs."""
    digest = digest_of([snapshot.bank.digest, sequences])
    return {"name": name, "split": "val", "digest": digest, "bank": snapshot.bank.digest, "sequences": sequences}


def receipt(
    system: Mapping[str, Any],
    ranks: Ranks,
    asked: Sequence[NextVectorQuestion],
    facts: Mapping[str, Any],
    why: str = "",
) -> Receipt:
    """A run of the lab: scores by question, strata by domain (those of enough questions), nothing measured yet."""
    strata, few = lanes(asked)
    if not strata:  # a gate over no lane at all would pass: the largest is judged, and found too small
        strata = largest(asked)
    scores = columns(ranks)
    scopes = {ALL: list(range(len(asked))), **strata}
    return Receipt(
        "run",
        {
            **facts,
            "system": dict(system),
            "versions": dict(versions()),
            "status": "not_measured" if why else "measured",
            "why": why,
            "queries": [question.name for question in asked],
            "strata": strata,
            "not_measured": {name: f"{count} questions" for name, count in few.items()},
            "scores": {name: to_json(scores[name]) for name in METRICS},
            "aggregates": {
                scope: {name: mean(scores[name][places]) for name in METRICS} for scope, places in scopes.items()
            },
        },
    )


def latency(run: Run) -> dict[str, dict[str, float]]:
    return {step: {f"p{q}": run.percentile(step, q) for q in (50, 95, 99)} for step in run.ms}
