"""The metadata of one question that the router policy asks for, from the trace of its answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from assay.bench.router_report.arms import get_stages
from assay.bench.types import TopicResult
from assay.engine.answer import Answer, Span
from assay.engine.executor import LATE, CostExecutor, Job
from assay.engine.pipeline import LegPlan, Pipeline
from assay.fuse.grouped import Grouped
from assay.types import Query, Ranking

USED, SKIPPED, NOT_TRIGGERED, FAILED = "stage2_used", "stage2_skipped_budget", "stage2_not_triggered", "stage2_failed"
COUNTERS = (USED, SKIPPED, NOT_TRIGGERED, FAILED)
NO_ANSWER = "question_failed"
"""Stage 2 was not reached because another stage failed. Counted as a failed question, not under stage 2."""
_FATES = {"ran": USED, "out_of_time": SKIPPED, "not_triggered": NOT_TRIGGERED, "failed": FAILED, "unable": FAILED}


@dataclass(frozen=True, slots=True)
class RouterQuestion:
    """One question's row. `facts` are the same on every run, `ms` are measured: total, stage 1, stage 2.

    `keys` counts its candidates by the field they were deduplicated by; "" for those that have none.
    """

    topic: str
    retrieved: TopicResult
    facts: dict[str, Any]
    ms: tuple[float, float, float]
    keys: Mapping[str, int] = field(default_factory=dict)

    @property
    def failed(self) -> str:
        """Why there is no answer; empty when there is one."""
        return self.retrieved.failed


def build_question(pipeline: Pipeline, query: Query, answer: Answer, retrieved: TopicResult) -> RouterQuestion:
    first, second = get_stages(pipeline)
    spans = {span.name: span for span in answer.trace if span.kind == "leg"}
    one, two = spans[first.name], spans[second.name]
    fate = _FATES[two.outcome]
    top = answer.chosen.take(slice(0, pipeline.k))
    rankings = {first.name: one.ranking, second.name: two.ranking}
    counted = {
        name: len(pipeline.group_rankings({name: ranking}, answer.snapshot)[name]) for name, ranking in rankings.items()
    }
    facts: dict[str, Any] = {
        "must_retrieved_count": counted[first.name],
        "stage1_late": any(note.text.startswith(LATE) for note in one.notes),
        "stage2_should_trigger": two.trigger is None or two.trigger.yes,
        **{name: name == fate for name in (USED, SKIPPED)},
        "outcome": fate,
        "stage2_skip_reason": two.skipped if fate in (SKIPPED, FAILED) else None,
        "trigger": None if two.trigger is None else two.trigger.to_json(),
        "stage2_candidates_considered": counted[second.name],
        "stage2_added_count": int((~np.isin(top.ids, one.ranking.ids)).sum()),
    }
    stage_ms = [_stage_ms(plan, query, span) for plan, span in ((first, one), (second, two))]
    ms = (answer.ms + sum(stage_ms) - one.ms - two.ms, stage_ms[0], stage_ms[1])
    keys: Mapping[str, int] = (
        pipeline.fuser.count_keys(rankings, answer.snapshot) if isinstance(pipeline.fuser, Grouped) else {}
    )
    return RouterQuestion(query.id, retrieved, facts, ms, keys)


class LastJobExecutor(CostExecutor):
    """Runs jobs as the lab does and records the last one, which is the one that failed if a question fails."""

    last = ""

    def run(self, job: Job) -> Ranking:
        self.last = job.name
        return super().run(job)


def failed_question(topic: str, why: str, by_second: bool) -> RouterQuestion:
    """The row of a failed question: a required source, the second or another, is missing."""
    facts: dict[str, Any] = {
        "must_retrieved_count": 0,
        "stage1_late": False,
        "stage2_should_trigger": None,
        USED: False,
        SKIPPED: False,
        "outcome": FAILED if by_second else NO_ANSWER,
        "stage2_skip_reason": why if by_second else None,
        "trigger": None,
        "stage2_candidates_considered": 0,
        "stage2_added_count": 0,
    }
    return RouterQuestion(topic, TopicResult(topic, failed=why), facts, (0.0, 0.0, 0.0))


def _stage_ms(plan: LegPlan, query: Query, span: Span) -> float:
    """The time of a stage: a recorded stage has its recorded time if it ran, else 0."""
    cost: Callable[[Query], float | None] | None = getattr(plan.leg, "cost_ms", None)
    if cost is None:
        return span.ms
    return (cost(query) or 0.0) if span.outcome == "ran" else 0.0
