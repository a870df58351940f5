"""Why a chunk is missing from an answer, as far as the trace does not tell: hidden by a filter, or below a leg's k."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from assay.engine.answer import Answer
from assay.engine.pipeline import Pipeline
from assay.types import Chunk
from assay.where import Compare

_DEEPEST = 5_000
"""How deep a leg is searched for the rank that a missing chunk would have."""


def missing_reasons(answer: Answer, pipeline: Pipeline, chunk_id: str, chunk: Chunk | None) -> Iterator[str]:
    """Every reason that applies, most direct first; `chunk` is None when the snapshot does not hold it."""
    if chunk is None:
        yield "it is not in this snapshot of the store"
        return
    hidden = list(_hidden_by(answer, chunk))
    yield from hidden
    if hidden:
        return  # legs never saw it, so their ranks are no reason
    yield from _below_k(answer, pipeline, chunk_id)
    if len(answer.chosen) and chunk_id in answer.trace[-1].ranking.ids:
        yield f"it is in the ranking, below the {len(answer.chosen)} that were asked for"


def _hidden_by(answer: Answer, chunk: Chunk) -> Iterator[str]:
    query, view = answer.query, answer.snapshot
    if query.where is not None and not view.matches(str(query.where), view.rows(np.array([chunk.id])))[0]:
        yield f"the filter hides it: {query.where}"
    if query.at is not None and chunk.created > query.at:
        yield "it was created after the moment asked about (--at)"
    if query.scope is not None and chunk.meta.get("scope") != query.scope:
        yield f"it is not in the scope {query.scope!r}"


def _below_k(answer: Answer, pipeline: Pipeline, chunk_id: str) -> Iterator[str]:
    query, view = answer.query, answer.snapshot
    only_it = Compare("id", "=", chunk_id)
    alone = replace(query, where=only_it if query.where is None else query.where & only_it)
    spans = {span.name: span for span in answer.trace if span.kind == "leg"}  # a step may be called like a leg
    for plan in pipeline.legs:
        if (
            getattr(plan.leg, "is_source", False)
            or spans[plan.name].skipped
            or chunk_id in spans[plan.name].ranking.ids
        ):
            continue
        found = plan.leg.find(alone, view, 1)
        if not len(found):
            yield f"{plan.name} finds nothing of the query in it"
            continue
        place = plan.leg.find(query, view, _DEEPEST).places().get(chunk_id)
        rank = f"a rank beyond {_DEEPEST:,}" if place is None else f"rank {place + 1}"
        yield f"{plan.name} gives it {found.score[0]:.4g}, {rank}; the leg looks {plan.k} deep"
