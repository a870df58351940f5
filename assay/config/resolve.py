"""The pipeline that a caller names: a preset, a file or a value, with another order or a packer added."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from assay.config.load import load, with_digest
from assay.config.registry import build_component, registered_name, settings_of
from assay.engine.checks import check_number, check_whole
from assay.engine.context import Packer
from assay.engine.pipeline import Pipeline, StepPlan
from assay.score.importance import Importance
from assay.select.budget import Budget
from assay.select.context.coverage import Coverage


def resolve(
    pipeline: str | Pipeline,
    budget: int | None = None,
    sort: str = "relevance",
    abstain: bool | None = None,
    budget_ms: float | None = None,
) -> Pipeline:
    """A pipeline by preset name, path or value. Another order than relevance becomes a step, and takes the place of a
    prior by importance. A token budget is given to the pipeline's packer, or to a coverage packer. `abstain` overrides
    the pipeline's own; of two time budgets the shorter one counts."""
    chosen = _loaded(pipeline) if isinstance(pipeline, str) else pipeline
    steps = list(chosen.steps)
    if sort != "relevance":
        steps = [plan for plan in steps if not isinstance(plan.step, Importance)]
        steps.append(StepPlan("sort", build_component("step", "sort", {"by": sort}, "sort")))
    packer = chosen.packer
    if budget is not None:
        check_whole("budget", budget, 1)
        packer = Coverage(tokens=budget) if packer is None else with_budget(packer, budget)
    abstain = chosen.abstain if abstain is None else abstain
    if budget_ms is not None:
        check_number("budget_ms", budget_ms, 0.001)
        budget_ms = min(float(budget_ms), chosen.budget_ms or float("inf"))
    changed = replace(
        chosen, steps=tuple(steps), packer=packer, abstain=abstain, budget_ms=budget_ms or chosen.budget_ms
    )
    return chosen if changed == chosen else with_digest(changed)


def token_budget(pipeline: Pipeline) -> int | None:
    """The tokens that an answer may take: of the packer, or of a step that bounds the results; None without either."""
    budgets = [plan.step.tokens for plan in pipeline.steps if isinstance(plan.step, Budget)]
    if pipeline.packer is not None:
        budgets.append(pipeline.packer.tokens)
    return min(budgets, default=None)


def with_budget(packer: Packer, budget: int) -> Packer:
    """The same packer with another budget."""
    settings = {**settings_of(packer), "tokens": budget}
    changed: Packer = build_component("packer", registered_name("packer", packer), settings, "context")
    return changed


@lru_cache(maxsize=32)
def _preset(name: str) -> Pipeline:
    return load(name)


def _loaded(name_or_path: str) -> Pipeline:
    """A preset is read once; a file is read anew each time, because somebody may be editing it."""
    return load(name_or_path) if name_or_path.endswith(".toml") else _preset(name_or_path)
