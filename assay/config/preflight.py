"""Checks a pipeline before it runs: scales, thresholds against ranges, legs that cannot matter.

Reachability is simulated with the pipeline's own fuser, so it holds for plug-in fusers too: the leg under test gives
one chunk, at its best score; every other leg is full of chunks that no other leg found, with one good score and the
rest near its worst. That is the best case for the chunk, so "it cannot enter" is certain.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass, replace
from itertools import combinations
from typing import Any, cast

import numpy as np

from assay.config.findings import Finding
from assay.engine.order import arrange, stamp_ranks
from assay.engine.pipeline import LegPlan, Pipeline, StepPlan
from assay.errors import AssayError
from assay.protocols import Snapshot
from assay.types import Part, Query, Range, Ranking

_MOST_HUNDREDTHS = 1_000
"""Weights go up to 10."""


def check_scales(pipeline: Pipeline) -> list[tuple[str, Range, Range]]:
    """Walk the scales through the pipeline (law 8); ConfigError where one part cannot work on another's scores.

    Returns (step, range given, range made) for every step, the fuser first.
    """
    legs: dict[str, Range] = {}
    for plan in pipeline.legs:
        if plan.when is not None:
            plan.when.check(legs)
        legs[plan.name] = plan.leg.gives()
    current = pipeline.fuser.gives(legs) if pipeline.fuser else next(iter(legs.values()))
    ranges = [("fuse", current, current)]
    for step in pipeline.steps:
        after = step.step.gives(current)
        ranges.append((step.name, current, after))
        current = after
    return ranges


def preflight(pipeline: Pipeline) -> list[Finding]:
    """Every finding about a pipeline, before it runs."""
    inner = [
        replace(finding, where=f"legs.{plan.name}.{finding.where}")
        for plan in pipeline.legs
        if isinstance(inside := getattr(plan.leg, "pipeline", None), Pipeline)
        for finding in (*_thresholds(inside), *_reachability(inside))
    ]
    return [*_thresholds(pipeline), *_reachability(pipeline), *_depth(pipeline), *_times(pipeline), *inner]


def _depth(pipeline: Pipeline) -> list[Finding]:
    """Legs too shallow for an answer: alone, or as the one that runs while the others wait for their triggers."""
    always = [plan for plan in pipeline.legs if plan.when is None]
    if len(always) != 1 or always[0].k >= pipeline.k:
        return []
    (plan,) = always
    code = "leg_short_alone" if len(pipeline.legs) > 1 else "leg_short"
    return [Finding("warning", f"legs.{plan.name}", code, {"depth": plan.k, "k": pipeline.k})]


def _times(pipeline: Pipeline) -> list[Finding]:
    """Costs above caps, and caps above the budget."""
    findings = []
    placed: list[tuple[str, LegPlan | StepPlan]] = [(f"legs.{plan.name}", plan) for plan in pipeline.legs]
    placed += [(plan.name, plan) for plan in pipeline.steps]
    for where, plan in placed:
        if plan.cost_ms is not None and plan.cap_ms is not None and plan.cost_ms > plan.cap_ms:
            values = {"cost_ms": float(plan.cost_ms), "cap_ms": float(plan.cap_ms)}
            findings.append(Finding("warning", where, "cost_above_cap", values))
        if pipeline.budget_ms is not None and (plan.cap_ms or 0.0) > pipeline.budget_ms:
            values = {"cap_ms": float(plan.cap_ms or 0.0), "budget_ms": float(pipeline.budget_ms)}
            findings.append(Finding("warning", where, "cap_above_budget", values))
    return findings


def _thresholds(pipeline: Pipeline) -> list[Finding]:
    findings: list[Finding] = []
    for plan, (name, incoming, _) in zip(pipeline.steps, check_scales(pipeline)[1:], strict=True):
        threshold = getattr(plan.step, "threshold", None)
        if threshold is None:
            continue
        if threshold > incoming.hi:
            values = {"threshold": float(threshold), "highest": _four_digits(incoming.hi)}
            findings.append(Finding("error", name, "threshold_too_high", values))
        elif threshold <= incoming.lo:
            values = {"threshold": float(threshold), "lowest": _four_digits(incoming.lo)}
            findings.append(Finding("warning", name, "threshold_too_low", values))
        findings += _under_skips(pipeline, name, threshold)
    return findings


def _under_skips(pipeline: Pipeline, name: str, threshold: float) -> list[Finding]:
    """The best fused score when some legs are skipped: a threshold must not turn a lost leg into an empty answer."""
    names = [plan.name for plan in pipeline.legs]
    findings = []
    for size in range(1, len(names)):
        for active in combinations(names, size):
            best = _best_score(pipeline, active)
            if best is not None and best < threshold:
                lost = ", ".join(n for n in names if n not in active)
                values = {"skipped": lost, "best": _four_digits(best), "threshold": float(threshold)}
                findings.append(Finding("warning", name, "threshold_needs_all_legs", values))
    return findings


def _four_digits(value: float) -> float:
    """As the sentence shows it, so that a receipt's finding does not depend on a last digit."""
    return float(f"{value:.4g}")


def _best_score(pipeline: Pipeline, active: tuple[str, ...]) -> float | None:
    rankings = {plan.name: _list(plan, ["best"] if plan.name in active else []) for plan in pipeline.legs}
    fused = _fused(pipeline, rankings)
    return float(fused.score[0]) if fused is not None and len(fused) else None


def _reachability(pipeline: Pipeline) -> list[Finding]:
    if pipeline.fuser is None or len(pipeline.legs) < 2:
        return []
    findings = []
    for plan in pipeline.legs:
        place = _place_alone(pipeline, plan)
        if place is not None and place > pipeline.k:
            values = {"place": place, "k": pipeline.k}
            findings.append(Finding("warning", f"legs.{plan.name}", "leg_cannot_enter", values))
    return findings


def barred(findings: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """The legs that, by these findings of a receipt, cannot enter the top k alone: that they brought nothing alone is
    arithmetic, and no measurement."""
    return frozenset(
        finding["where"].removeprefix("legs.") for finding in findings if finding["code"] == "leg_cannot_enter"
    )


def _place_alone(pipeline: Pipeline, plan: LegPlan) -> int | None:
    """Where a chunk comes to stand that only this leg finds, at its rank 1, while the others are full."""
    fused = _beside_full(pipeline, plan, ["alone"])
    return None if fused is None else fused.places().get("alone", len(fused)) + 1


def only_fills(pipeline: Pipeline, leg: str) -> bool:
    """Does this leg not even reorder, while the others are full? It gives their last chunk its best place, and nothing
    moves: so under append_fill, where all that a later leg can do is fill what the others leave open."""
    plan = next(plan for plan in pipeline.legs if plan.name == leg)
    alone = _beside_full(pipeline, plan, [])
    if alone is None or not len(alone):
        return False
    helped = _beside_full(pipeline, plan, alone.ids[-1:].tolist())
    return helped is not None and helped.ids.tolist() == alone.ids.tolist()


def _beside_full(pipeline: Pipeline, plan: LegPlan, ids: list[str]) -> Ranking | None:
    """The fused ranking when this leg gives these ids and every other leg is full of its own."""
    others = {p.name: _list(p, [f"{p.name}-{i:05d}" for i in range(p.k)]) for p in pipeline.legs if p is not plan}
    return _fused(pipeline, {**others, plan.name: _list(plan, ids)})


def enough_weight(pipeline: Pipeline, leg: str) -> float | None:
    """The smallest weight, in hundredths up to 10, at which what only this leg finds can enter the top k; None where
    none would do, or the fuser knows no weights."""
    plan = next(plan for plan in pipeline.legs if plan.name == leg)
    fuser: Any = getattr(pipeline.fuser, "inner", pipeline.fuser)
    weights = getattr(fuser, "weights", None)
    if not isinstance(weights, Mapping) or not is_dataclass(type(fuser)):
        return None

    def enters(hundredths: int) -> bool:
        weighed = replace(cast(Any, fuser), weights={**weights, leg: hundredths / 100})
        place = _place_alone(replace(pipeline, fuser=weighed), plan)
        return place is not None and place <= pipeline.k

    found = bisect_left(range(1, _MOST_HUNDREDTHS + 1), True, key=enters) + 1
    return found / 100 if found <= _MOST_HUNDREDTHS else None


def _fused(pipeline: Pipeline, rankings: dict[str, Ranking]) -> Ranking | None:
    if pipeline.fuser is None:
        return next(iter(rankings.values()))
    try:
        ordered = {plan.name: rankings[plan.name] for plan in pipeline.legs}
        fuser = getattr(pipeline.fuser, "inner", pipeline.fuser)  # simulated chunks are of different groups
        return cast(Ranking, fuser.fuse(Query(), ordered, cast(Snapshot, _Nothing())))
    except (AssayError, NotImplementedError):
        return None  # a fuser that must read the store cannot be simulated; nothing is claimed about it


def _list(plan: LegPlan, ids: list[str]) -> Ranking:
    """A full leg whose scores fall as steeply as they can: what cannot enter the top k beside it never can."""
    span = plan.leg.gives()
    hi = span.hi if np.isfinite(span.hi) else 1.0
    lo = span.lo if np.isfinite(span.lo) else 0.0
    score = lo + (hi - lo) * 1e-6 * np.linspace(1.0, 0.0, max(len(ids), 1))[: len(ids)]
    score[:1] = hi
    return stamp_ranks(arrange(Ranking.of(ids, [Part("simulated", "add", score)], span.scale)), plan.priority)


class _Nothing:
    """An empty store for simulations; whoever reads it cannot be simulated."""

    def __getattribute__(self, name: str) -> object:
        raise NotImplementedError(name)
