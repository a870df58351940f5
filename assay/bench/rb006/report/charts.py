"""The charts of the report, from the lines of a receipt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.page import charts
from assay.page.charts import Curve, ForestRow, HeatCell
from assay.page.svg import WIDTH

CURVES = ("race", "flat-strong", "hcr", "beam-only", "collapsed-only", "raptor", "hybrid", "oracle")
"""Systems in the chart of curves, in the order of their colours."""
BUDGETS = (200, 400, 800, 1200)
_POOL = 1400
"""Where the value without a budget stands on the axis of tokens."""
MOST_NODES = 24


def draw_curves(systems: Mapping[str, Any], width: float = WIDTH) -> str:
    """A@T by budget, and without a budget as the last point."""
    curves = []
    for name in (name for name in CURVES if name in systems):
        values = systems[name]["A"]
        points = [(0.0, 0.0), *((float(b), values[str(b)]) for b in BUDGETS), (float(_POOL), values["pool"])]
        points = [(x, y) for x, y in points if y is not None]
        tips = ["", *(f"{name}: A@{'pool' if x == _POOL else int(x)} {y:.3f}" for x, y in points[1:])]
        curves.append(Curve(name, points, f"c{CURVES.index(name)}", tips))
    ticks = {**{float(budget): str(budget) for budget in BUDGETS}, float(_POOL): "pool"}
    labels = ("Answerability by token budget", "tokens", "A@T, feasible queries")
    return charts.draw_curves(curves, (0, _POOL), (0.0, 1.0), labels, ticks, width)


def draw_strata(lines: Sequence[Mapping[str, Any]], width: float = WIDTH) -> str:
    """The difference of race and flat baseline in every stratum, with its interval."""
    rows = []
    for one in lines:
        kind = "win" if one["difference"] > 0 else "loss" if one["difference"] < 0 else "tie"
        tip = f"{one['stratum']}: {one['difference']:+.3f} [{one['ci_low']:+.3f}, {one['ci_high']:+.3f}], n {one['n']}"
        tip += f", p {one['p']:.3f}, adjusted {one['p_bh']:.3f}"
        name, note = f"{one['stratum']} ({one['n']})", f"{one['difference']:+.3f}"
        rows.append(ForestRow(name, one["difference"], one["ci_low"], one["ci_high"], kind, tip, note))
    return charts.draw_forest(rows, "A@400, race less flat-strong", width)


def draw_heat_map(nodes: Sequence[Mapping[str, Any]], width: float = WIDTH, most: int = MOST_NODES) -> str:
    """Nodes by level, coloured by the share of walks that lost their evidence there; the number counts them."""
    rows = {}
    for level in sorted({one["level"] for one in nodes}):
        found = sorted(
            (one for one in nodes if one["level"] == level), key=lambda n: (-n["missed"], -n["walks"], n["node"])
        )
        rows[f"level {level}"] = [
            HeatCell(
                one["missed"] / one["walks"],
                str(one["missed"]) if one["missed"] else "",
                f"node {one['node']}, level {level}: {one['missed']} of {one['walks']} walks lost their evidence",
            )
            for one in found[:most]
        ]
    return charts.draw_heat_map(rows, "Routing errors by node", width)


def draw_scales(lines: Sequence[Mapping[str, Any]], width: float = WIDTH) -> str:
    """A@400 of race and flat baseline by the size of the corpus."""
    known = [one for one in lines if "race" in one]
    if len(known) < 2:
        return ""
    curves = [
        Curve(
            name,
            [(float(one["scale"]), one[key]) for one in known],
            f"c{colour}",
            [f"{name} at {one['scale']:,}: {one[key]:.3f}" for one in known],
        )
        for colour, name, key in ((0, "race", "race"), (1, "flat-strong", "flat"))
    ]
    ticks = {float(one["scale"]): f"{one['scale'] // 1000}k" for one in known}
    across = (known[0]["scale"] / 1.3, known[-1]["scale"] * 1.3)
    labels = ("Answerability by the size of the corpus", "chunks", "A@400, feasible queries")
    return charts.draw_curves(curves, across, (0.0, 1.0), labels, ticks, width, logarithmic=True)
