"""The pipeline that a caller names: a preset, a file or a value, with another order or a token budget added."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from assay.config.load import load, with_digest
from assay.config.registry import build_component
from assay.engine.pipeline import Pipeline, StepPlan
from assay.score.importance import Importance
from assay.select.budget import Budget


def resolve(
    pipeline: str | Pipeline, budget: int | None = None, sort: str = "relevance", abstain: bool | None = None
) -> Pipeline:
    """A pipeline by preset name, path or value. Another order than relevance becomes a step, and takes the place of a
    prior by importance; a token budget becomes the last step; `abstain` overrides the pipeline's own."""
    chosen = _loaded(pipeline) if isinstance(pipeline, str) else pipeline
    steps = list(chosen.steps)
    if sort != "relevance":
        steps = [plan for plan in steps if not isinstance(plan.step, Importance)]
        steps.append(StepPlan("sort", build_component("step", "sort", {"by": sort}, "sort")))
    if budget is not None:
        steps.append(StepPlan("budget", Budget(tokens=budget)))
    abstain = chosen.abstain if abstain is None else abstain
    if steps == list(chosen.steps) and abstain == chosen.abstain:
        return chosen
    return with_digest(replace(chosen, steps=tuple(steps), abstain=abstain))


def token_budget(pipeline: Pipeline) -> int | None:
    """The tokens that the results of a pipeline may take; None where no step bounds them."""
    budgets = [plan.step.tokens for plan in pipeline.steps if isinstance(plan.step, Budget)]
    return min(budgets, default=None)


@lru_cache(maxsize=32)
def _preset(name: str) -> Pipeline:
    return load(name)


def _loaded(name_or_path: str) -> Pipeline:
    """A preset is read once; a file is read anew each time, because somebody may be editing it."""
    return load(name_or_path) if name_or_path.endswith(".toml") else _preset(name_or_path)
