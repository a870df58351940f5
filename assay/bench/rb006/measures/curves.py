"""Answerability by token budget: the area under the curve, and the budget at which a system reaches a level."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from assay.bench.stats import StatisticsError

BUDGETS = (200, 400, 800, 1200)
GRID = tuple(range(50, 1201, 50))
"""Budgets at which parity is looked for."""
TOLERANCE = 0.02
"""How far below the unlimited baseline still counts as parity."""


def area_under_budget(curve: Mapping[int, float]) -> float:
    """The area under A@T for T in {0} and `BUDGETS`, by trapezoids, divided by the largest budget.

    A@0 is 0: nothing is answered from an empty context. 1 would mean that every query is answered from no tokens.
    """
    missing = [budget for budget in BUDGETS if budget not in curve]
    if missing:
        raise StatisticsError(f"A@{missing[0]} is not measured", f"measure A at {', '.join(map(str, BUDGETS))} tokens")
    points = [(0, 0.0), *((budget, curve[budget]) for budget in BUDGETS)]
    area = sum((right - left) * (low + high) / 2.0 for (left, low), (right, high) in pairwise(points))
    return area / BUDGETS[-1]


def budget_at_parity(curve: Mapping[int, float], level: float, tolerance: float = TOLERANCE) -> int | None:
    """The smallest measured budget from which on A@T stays at least `level - tolerance`; None if there is none.

    "From which on": a larger budget need not contain what a smaller one does, so one lucky budget is not parity.
    """
    if not curve:
        raise StatisticsError("a curve without a budget has no parity", "measure A at some budgets")
    reached: int | None = None
    for budget in sorted(curve, reverse=True):
        if curve[budget] < level - tolerance - 1e-12:
            return reached
        reached = budget
    return reached
