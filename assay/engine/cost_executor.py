"""How the engine asks when nobody hands it a clock: by the plan's own costs, so that two runs agree byte for byte.

    an errand runs   iff   cost ≤ cap   and   spent + cost ≤ budget          spent: the costs of those that ran

An errand whose cost nobody knows costs 0. Serving replaces this by real deadlines (deadlines.py), a replay by what was
served (served.py).
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from assay.engine.plan import LegPlan
from assay.errors import OutOfTime
from assay.protocols import Cancellable, Job, Preparable, Snapshot, offers
from assay.types import Query, Ranking


def leg_job(plan: LegPlan, query: Query, snapshot: Snapshot, seeds: Ranking | None) -> Job:
    """A leg's work, ready to be sent. Nothing is asked of the leg yet."""
    errand = Job(plan.name, lambda: plan.leg.find(query, snapshot, plan.k, seeds), plan.cap_ms, plan.cost_ms)
    own = getattr(plan.leg, "cost_ms", None)
    if callable(own):
        errand = replace(errand, known_ms=lambda: own(query))
    if offers(type(plan.leg), Cancellable):
        pending = cast(Cancellable, plan.leg).begin(query, snapshot, plan.k)
        errand = replace(errand, run=pending.result, cancel=pending.cancel)
    return replace(errand, prepare=cast(Preparable, plan.leg).prepare) if offers(type(plan.leg), Preparable) else errand


def refusal(cost: float, cap: float | None, budget: float | None, spent: float) -> str:
    """Why an errand of this cost may not run; empty when it may. Milliseconds."""
    if cap is not None and cost > cap:
        return f"it would cost {cost:.4g} ms, and its cap is {cap:g} ms"
    if budget is not None and spent + cost > budget:
        return f"it would cost {cost:.4g} ms, and {max(budget - spent, 0.0):.4g} of {budget:g} ms are left"
    return ""


class CostExecutor:
    """One query's errands, admitted by their expected costs. Reads no clock and cancels nothing."""

    def __init__(self, budget_ms: float | None = None) -> None:
        self._budget, self._spent = budget_ms, 0.0

    def ask(self, errand: Job) -> Ranking:
        known = errand.known_ms()
        cost = (errand.cost_ms or 0.0) if known is None else known
        why_not = refusal(cost, errand.cap_ms, self._budget, self._spent)
        if why_not:
            raise OutOfTime(why_not)
        self._spent += cost
        return errand.run()
