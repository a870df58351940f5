"""Why is a chunk not in an answer? What the trace cannot know: hidden by a filter, or too deep for a leg."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from assay.engine.answer import Answer
from assay.engine.pipeline import Pipeline
from assay.types import Chunk
from assay.where import Compare

_DEEPEST = 5_000
"""How far a leg is asked to look for the place a missing chunk would have had."""


def reasons(answer: Answer, pipeline: Pipeline, chunk_id: str, chunk: Chunk | None) -> Iterator[str]:
    """Every reason that holds, plainest first; `chunk` is None when the snapshot does not hold it."""
    if chunk is None:
        yield "it is not in this snapshot of the store"
        return
    hidden = list(_hiding(answer, chunk))
    yield from hidden
    if hidden:
        return  # legs never saw it, so what they would say of it is no reason
    yield from _too_deep(answer, pipeline, chunk_id)
    if len(answer.chosen) and chunk_id in answer.trace[-1].gave.ids:
        yield f"it is in the ranking, below the {len(answer.chosen)} that were asked for"


def _hiding(answer: Answer, chunk: Chunk) -> Iterator[str]:
    query, view = answer.query, answer.snapshot
    if query.where is not None and not view.matches(str(query.where), view.rows(np.array([chunk.id])))[0]:
        yield f"the filter hides it: {query.where}"
    if query.at is not None and chunk.created > query.at:
        yield "it was created after the moment asked about (--at)"
    if query.scope is not None and chunk.meta.get("scope") != query.scope:
        yield f"it is not in the scope {query.scope!r}"


def _too_deep(answer: Answer, pipeline: Pipeline, chunk_id: str) -> Iterator[str]:
    query, view = answer.query, answer.snapshot
    me = Compare("id", "=", chunk_id)
    alone = replace(query, where=me if query.where is None else query.where & me)
    spans = {span.name: span for span in answer.trace if span.kind == "leg"}  # a step may be called like a leg
    for plan in pipeline.legs:
        if getattr(plan.leg, "elsewhere", False) or spans[plan.name].skipped or chunk_id in spans[plan.name].gave.ids:
            continue
        found = plan.leg.find(alone, view, 1)
        if not len(found):
            yield f"{plan.name} finds nothing of the query in it"
            continue
        place = plan.leg.find(query, view, _DEEPEST).places().get(chunk_id)
        rank = f"a rank beyond {_DEEPEST:,}" if place is None else f"rank {place + 1}"
        yield f"{plan.name} gives it {found.score[0]:.4g}, {rank}; the leg looks {plan.k} deep"
