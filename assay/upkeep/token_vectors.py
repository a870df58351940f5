"""Fills the cache of token vectors that the step late_interaction reads."""

from __future__ import annotations

from collections.abc import Iterator

from assay.backend.contract import StoreSnapshot
from assay.engine.pipeline import Pipeline
from assay.errors import ConfigError, ModelError
from assay.rerank.late_interaction import LateInteraction, open_token_cache
from assay.types import Progress

_BATCH = 1_000


def fill_token_vectors(snapshot: StoreSnapshot, pipeline: Pipeline | None, progress: Progress) -> int:
    """Compute the token vectors of every live chunk as the pipeline's late_interaction sets them, or as by default;
    how many were not cached yet."""
    steps = [LateInteraction()] if pipeline is None else [plan.step for plan in pipeline.steps]
    models = {(step.model, step.bits) for step in steps if isinstance(step, LateInteraction)}
    if pipeline is not None and not models:
        raise ConfigError(f"the pipeline {pipeline.name!r} has no step late_interaction", "name one that has, or none")
    computed = 0
    for model, bits in sorted(models):
        cache = open_token_cache(model, bits)
        computed += cache.fill(_texts(snapshot), lambda done: progress("reading tokens", done, snapshot.size))
        if cache.disk_cache.bypassed:
            raise ModelError(
                f"token vectors could not be kept: {cache.disk_cache.trouble}", "make room, or set ASSAY_HOME"
            )
    return computed


def _texts(snapshot: StoreSnapshot) -> Iterator[str]:
    rows = snapshot.live_rows(None)
    for start in range(0, len(rows), _BATCH):
        for chunk in snapshot.chunks(rows[start : start + _BATCH]):
            yield chunk.indexed_text
