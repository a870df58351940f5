"""Builds a router and its comparisons: its first source alone, its second alone, and both for every question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from assay.bench.systems import System, make_system
from assay.config.load import with_digest
from assay.config.plans import trigger_config
from assay.config.registry import registered_name, settings_of
from assay.engine.pipeline import LegPlan, Pipeline
from assay.errors import ConfigError

MODES: Mapping[str, str] = {"fewer_than": "must_count_gate"}
"""Trigger → its name in the router policy, if it has one."""
FUSIONS: Mapping[str, str] = {"rrf": "rrf_fusion"}


@dataclass(frozen=True)
class RouterArms:
    """The router under its name, and its three comparisons as "name first", "name second" and "name always"."""

    router: System
    first: System
    second: System
    always: System

    def __iter__(self) -> Any:
        return iter((self.router, self.first, self.second, self.always))


def build_arms(pipeline: Pipeline, name: str = "") -> RouterArms:
    """Build the arms of a two-stage pipeline; ConfigError if it does not have two legs."""
    first, second = get_stages(pipeline)
    name = name or pipeline.name
    always = replace(pipeline, legs=(first, replace(second, when=None)))
    return RouterArms(
        make_system(pipeline, name),
        make_system(_single_stage(pipeline, first), f"{name} first"),
        make_system(_single_stage(pipeline, second), f"{name} second"),
        make_system(with_digest(always), f"{name} always"),
    )


def get_stages(pipeline: Pipeline) -> tuple[LegPlan, LegPlan]:
    if len(pipeline.legs) != 2:
        raise ConfigError(
            f"pipeline {pipeline.name!r} has {len(pipeline.legs)} legs; a router has a first and a second",
            "put several legs of one stage into one: [legs.first.legs.bm25], [legs.first.fuse]",
        )
    first, second = pipeline.legs
    return first, second


def _single_stage(pipeline: Pipeline, plan: LegPlan) -> Pipeline:
    """One stage for every question, without a time limit, with the same fuser (which still merges groups) and the same
    steps. The stage is required: a missing source must fail, not return nothing."""
    alone = replace(plan, when=None, after=(), cap_ms=None, required=True)
    return with_digest(replace(pipeline, legs=(alone,), fuser=_drop_weights(pipeline.fuser), budget_ms=None))


def _drop_weights(fuser: Any) -> Any:
    """The fuser without weights by leg: with one leg they have no effect, and the other leg does not exist."""
    if hasattr(fuser, "inner"):
        return replace(fuser, inner=_drop_weights(fuser.inner))
    return replace(fuser, weights={}) if getattr(fuser, "weights", None) else fuser


def _dedupe_fields(fuser: Any) -> str | list[str] | None:
    """The field that candidates are grouped by, or the list of those that are tried."""
    by = getattr(fuser, "by", None)
    return list(by) if isinstance(by, tuple) else by


def describe_config(pipeline: Pipeline) -> dict[str, Any]:
    """The `config` of the router policy's report: mode, trigger settings, budgets."""
    first, second = get_stages(pipeline)
    fuser = getattr(pipeline.fuser, "inner", pipeline.fuser)
    fusion = "" if fuser is None else registered_name("fuser", fuser)
    trigger = "always" if second.when is None else registered_name("trigger", second.when)
    settings = {} if fuser is None else settings_of(fuser)
    return {
        "mode": MODES.get(trigger, trigger),
        "trigger": trigger_config(second.when, registered_name) or {"use": "always"},
        "min_must_count": getattr(second.when, "count", None),
        "fusion_mode": FUSIONS.get(fusion, fusion),
        "k_rrf": settings.get("c"),
        "weights": settings.get("weights"),
        "dedupe_by": _dedupe_fields(pipeline.fuser),
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
