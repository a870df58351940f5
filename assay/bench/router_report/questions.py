"""What became of one question: the metadata that 000 asks for, read off the trace of its answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.bench.router_report.arms import stages
from assay.bench.types import Retrieved
from assay.engine.answer import Answer, Span
from assay.engine.cost_executor import CostExecutor
from assay.engine.pipeline import LegPlan, Pipeline
from assay.protocols import Job
from assay.types import Query, Ranking

USED, SKIPPED, NOT_TRIGGERED, FAILED = "stage2_used", "stage2_skipped_budget", "stage2_not_triggered", "stage2_failed"
COUNTERS = (USED, SKIPPED, NOT_TRIGGERED, FAILED)
NO_ANSWER = "question_failed"
"""Stage 2 was never reached: another stage broke. Counted with the questions that failed, not with stage 2."""
_FATES = {"ran": USED, "out_of_time": SKIPPED, "not_triggered": NOT_TRIGGERED, "failed": FAILED, "unable": FAILED}


@dataclass(frozen=True, slots=True)
class RouterQuestion:
    """One question's row. `facts` are the same on every run, `ms` are measured: total, stage 1, stage 2."""

    topic: str
    retrieved: Retrieved
    facts: dict[str, Any]
    ms: tuple[float, float, float]

    @property
    def failed(self) -> str:
        """Why there is no answer; empty when there is one."""
        return self.retrieved.failed


def question(pipeline: Pipeline, query: Query, answer: Answer, retrieved: Retrieved) -> RouterQuestion:
    first, second = stages(pipeline)
    spans = {span.name: span for span in answer.trace if span.kind == "leg"}
    one, two = spans[first.name], spans[second.name]
    fate = _FATES[two.fate]
    top = answer.chosen.take(slice(0, pipeline.k))
    counted = pipeline.counted({first.name: one.gave}, answer.snapshot)[first.name]
    facts: dict[str, Any] = {
        "must_retrieved_count": len(counted),
        "stage2_should_trigger": two.fired is None or two.fired.yes,
        **{name: name == fate for name in (USED, SKIPPED)},
        "outcome": fate,
        "stage2_skip_reason": two.skipped if fate in (SKIPPED, FAILED) else None,
        "trigger": None if two.fired is None else two.fired.to_json(),
        "stage2_candidates_considered": len(two.gave),
        "stage2_added_count": int((~np.isin(top.ids, one.gave.ids)).sum()),
    }
    taken = [_taken(plan, query, span) for plan, span in ((first, one), (second, two))]
    return RouterQuestion(query.id, retrieved, facts, (answer.ms + sum(taken) - one.ms - two.ms, taken[0], taken[1]))


class Noting(CostExecutor):
    """Asks as the lab does, and knows whom it asked last: who that is when a question breaks, broke it."""

    last = ""

    def ask(self, errand: Job) -> Ranking:
        self.last = errand.name
        return super().ask(errand)


def failed(topic: str, why: str, by_second: bool) -> RouterQuestion:
    """A question without an answer: a source that it requires, the second or another, is not there."""
    facts: dict[str, Any] = {
        "must_retrieved_count": 0,
        "stage2_should_trigger": None,
        USED: False,
        SKIPPED: False,
        "outcome": FAILED if by_second else NO_ANSWER,
        "stage2_skip_reason": why if by_second else None,
        "trigger": None,
        "stage2_candidates_considered": 0,
        "stage2_added_count": 0,
    }
    return RouterQuestion(topic, Retrieved(topic, failed=why), facts, (0.0, 0.0, 0.0))


def _taken(plan: LegPlan, query: Query, span: Span) -> float:
    """What a stage took: a recorded one what its recording says, and what is not run takes nothing of that."""
    cost: Callable[[Query], float | None] | None = getattr(plan.leg, "cost_ms", None)
    if cost is None:
        return span.ms
    return (cost(query) or 0.0) if span.fate == "ran" else 0.0
