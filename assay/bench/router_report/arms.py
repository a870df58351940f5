"""A router and what it is held against: its first source alone, its second alone, and both for every question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from assay.bench.systems import System, of
from assay.config.load import with_digest
from assay.config.plans import trigger_config
from assay.config.registry import settings_of, short_name
from assay.engine.pipeline import LegPlan, Pipeline
from assay.errors import ConfigError

MODES: Mapping[str, str] = {"fewer_than": "must_count_gate"}
"""What 000 calls a trigger, where it has a word for it."""
FUSIONS: Mapping[str, str] = {"rrf": "rrf_fusion"}


@dataclass(frozen=True)
class Arms:
    """The router under its name, and its three comparisons as "name first", "name second" and "name always"."""

    router: System
    first: System
    second: System
    always: System

    def __iter__(self) -> Any:
        return iter((self.router, self.first, self.second, self.always))


def arms(pipeline: Pipeline, name: str = "") -> Arms:
    """The arms of a two-stage pipeline; ConfigError for one that has not two legs."""
    first, second = stages(pipeline)
    name = name or pipeline.name
    always = replace(pipeline, legs=(first, replace(second, when=None)))
    return Arms(
        of(pipeline, name),
        of(_alone(pipeline, first), f"{name} first"),
        of(_alone(pipeline, second), f"{name} second"),
        of(with_digest(always), f"{name} always"),
    )


def stages(pipeline: Pipeline) -> tuple[LegPlan, LegPlan]:
    if len(pipeline.legs) != 2:
        raise ConfigError(
            f"pipeline {pipeline.name!r} has {len(pipeline.legs)} legs; a router has a first and a second",
            "put several legs of one stage into one: [legs.first.legs.bm25], [legs.first.fuse]",
        )
    first, second = pipeline.legs
    return first, second


def _alone(pipeline: Pipeline, plan: LegPlan) -> Pipeline:
    """One stage for every question, however long it takes, through the same fuser (which still makes one candidate of a
    group) and the same steps. It must answer: a source that is not there is no source that finds nothing."""
    alone = replace(plan, when=None, after=(), cap_ms=None, required=True)
    return with_digest(replace(pipeline, legs=(alone,), fuser=_unweighted(pipeline.fuser), budget_ms=None))


def _unweighted(fuser: Any) -> Any:
    """The fuser without weights by name: of one leg they change nothing, and there is no other to name."""
    if hasattr(fuser, "inner"):
        return replace(fuser, inner=_unweighted(fuser.inner))
    return replace(fuser, weights={}) if getattr(fuser, "weights", None) else fuser


def described(pipeline: Pipeline) -> dict[str, Any]:
    """The `config` of 000's report: its mode, its gate values, its budgets."""
    first, second = stages(pipeline)
    fuser = getattr(pipeline.fuser, "inner", pipeline.fuser)
    fusion = "" if fuser is None else short_name("fuser", fuser)
    trigger = "always" if second.when is None else short_name("trigger", second.when)
    settings = {} if fuser is None else settings_of(fuser)
    return {
        "mode": MODES.get(trigger, trigger),
        "trigger": trigger_config(second.when, short_name) or {"use": "always"},
        "min_must_count": getattr(second.when, "count", None),
        "fusion_mode": FUSIONS.get(fusion, fusion),
        "k_rrf": settings.get("c"),
        "weights": settings.get("weights"),
        "dedupe_by": getattr(pipeline.fuser, "by", None),
        "top_k": pipeline.k,
        "stage1_budget": first.k,
        "stage2_budget": second.k,
        "stage2_max_additional": settings.get("max_fill"),
        "stage1_max_ms": first.cap_ms,
        "stage2_max_ms": second.cap_ms,
        "budget_ms": pipeline.budget_ms,
        "tie_break_order": ["fused_score_desc", "stage_priority_asc", "source_rank_asc", "id_asc"],
        "stage_priority": {first.name: first.priority, second.name: second.priority},
        "rerank": [plan.name for plan in pipeline.steps],
        "pipeline": pipeline.digest,
    }
