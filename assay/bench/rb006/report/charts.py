"""The charts of the report. Colours are classes of the page's style sheet; marks have tooltips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.bench.report.svg import WIDTH, PlotAxis, bar, chart, circle, line, polyline, text, x_axis, y_axis

CURVES = ("race", "flat-strong", "hcr", "beam-only", "collapsed-only", "raptor", "hybrid", "oracle")
"""Systems in the chart of curves, in the order of their colours."""


def draw_curves(systems: Mapping[str, Any]) -> str:
    """A@T by budget, and without a budget as the last point."""
    shown = [name for name in CURVES if name in systems]
    if not shown:
        return ""
    across, up = PlotAxis(0, 1400, 46, WIDTH - 130), PlotAxis(0.0, 1.0, 300, 24)
    marks = [*y_axis(up, 46, WIDTH - 130, "A@T, feasible queries", "{:.1f}")]
    marks += [line(46, 300, WIDTH - 130, 300)]
    for budget in (200, 400, 800, 1200):
        x = across.at(budget)
        marks += [line(x, 24, x, 300, "grid"), text(x, 316, str(budget), "middle", "tick")]
    marks += [text(across.at(1400), 316, "pool", "middle", "tick"), text(330, 334, "tokens", "middle", "label")]
    ends: list[float] = []
    for name in shown:
        colour = CURVES.index(name)
        values = systems[name]["A"]
        points = [(0.0, 0.0), *((float(b), values[str(b)]) for b in (200, 400, 800, 1200)), (1400.0, values["pool"])]
        points = [(x, y) for x, y in points if y is not None]
        marks.append(polyline([(across.at(x), up.at(y)) for x, y in points], {"class": f"curve c{colour}"}))
        marks += [
            circle(across.at(x), up.at(y), f"c{colour}", f"{name}: A@{'pool' if x == 1400 else int(x)} {y:.3f}", 3.5)
            for x, y in points[1:]
        ]
        ends.append(up.at(points[-1][1]))
    for name, height in zip(shown, _spread(ends), strict=True):
        marks.append(text(WIDTH - 122, height + 4, name, kind=f"name c{CURVES.index(name)}"))
    return chart(344, "Answerability by token budget", marks)


def _spread(heights: Sequence[float], gap: float = 14.0) -> list[float]:
    """Heights of labels near these, at least `gap` apart, none below the axis."""
    order = sorted(range(len(heights)), key=lambda place: heights[place])
    found = list(heights)
    last = 0.0
    for place in order:
        last = found[place] = max(heights[place], last + gap)
    over = max(0.0, last - 296.0)
    if over:
        for place in reversed(order):
            found[place] = min(found[place], last - over)
            last, over = found[place] - gap + over, over
    return found


def draw_strata(lines: Sequence[Mapping[str, Any]]) -> str:
    """The difference of race and flat baseline in every stratum, with its interval."""
    if not lines:
        return ""
    ends = [end for one in lines for end in (one["ci_low"], one["ci_high"], one["difference"])]
    across = PlotAxis(min(-0.1, *ends), max(0.1, *ends), 190, WIDTH - 30)
    height = 30.0 + 24.0 * len(lines)
    marks = [*x_axis(across, height, 10, "A@400, race less flat-strong", "{:+.2f}")]
    marks.append(line(across.at(0.0), 10, across.at(0.0), height, "zero"))
    for place, one in enumerate(lines):
        y = 26.0 + 24.0 * place
        kind = "win" if one["difference"] > 0 else "loss" if one["difference"] < 0 else "tie"
        tip = f"{one['stratum']}: {one['difference']:+.3f} [{one['ci_low']:+.3f}, {one['ci_high']:+.3f}], n {one['n']}"
        tip += f", p {one['p']:.3f}, adjusted {one['p_bh']:.3f}"
        marks += [
            text(182, y + 4, f"{one['stratum']} ({one['n']})", "end"),
            line(across.at(one["ci_low"]), y, across.at(one["ci_high"]), y, f"interval {kind}"),
            circle(across.at(one["difference"]), y, kind, tip),
        ]
    return chart(height + 44, "Race against flat baseline by stratum", marks)


def draw_heat_map(nodes: Sequence[Mapping[str, Any]], most: int = 24) -> str:
    """Nodes by level, coloured by the share of walks that lost their evidence there; the number counts them."""
    levels = sorted({one["level"] for one in nodes})
    if not levels:
        return ""
    marks, size = [], (WIDTH - 80) / most
    for row, level in enumerate(levels):
        cells = sorted(
            (one for one in nodes if one["level"] == level), key=lambda n: (-n["missed"], -n["walks"], n["node"])
        )
        y = 8.0 + row * (size + 8.0)
        marks.append(text(66, y + size / 2 + 4, f"level {level}", "end"))
        for column, one in enumerate(cells[:most]):
            share = one["missed"] / one["walks"]
            step = 0 if not one["missed"] else 1 if share <= 0.05 else 2 if share <= 0.2 else 3 if share <= 0.5 else 4
            tip = f"node {one['node']}, level {level}: {one['missed']} of {one['walks']} walks lost their evidence"
            x = 74.0 + column * size
            marks.append(bar(x, y, size - 3, size - 3, f"heat{step}", tip))
            if one["missed"]:
                marks.append(text(x + (size - 3) / 2, y + size / 2 + 3, str(one["missed"]), "middle", "cell"))
    height = 8.0 + len(levels) * (size + 8.0)
    return chart(height + 4, "Routing errors by node", marks)


def draw_scales(lines: Sequence[Mapping[str, Any]]) -> str:
    """A@400 of race and flat baseline by the size of the corpus."""
    known = [one for one in lines if "race" in one]
    if len(known) < 2:
        return ""
    across = PlotAxis(known[0]["scale"] / 1.3, known[-1]["scale"] * 1.3, 46, WIDTH - 130, logarithmic=True)
    up = PlotAxis(0.0, 1.0, 200, 24)
    marks = [*y_axis(up, 46, WIDTH - 130, "A@400, feasible queries", "{:.1f}"), line(46, 200, WIDTH - 130, 200)]
    marks += [text(across.at(one["scale"]), 216, f"{one['scale'] // 1000}k", "middle", "tick") for one in known]
    for colour, name, key in ((0, "race", "race"), (1, "flat-strong", "flat")):
        marks.append(
            polyline([(across.at(one["scale"]), up.at(one[key])) for one in known], {"class": f"curve c{colour}"})
        )
        marks += [
            circle(
                across.at(one["scale"]), up.at(one[key]), f"c{colour}", f"{name} at {one['scale']:,}: {one[key]:.3f}", 4
            )
            for one in known
        ]
    heights = _spread([up.at(known[-1]["race"]), up.at(known[-1]["flat"])])
    marks += [
        text(WIDTH - 122, heights[0] + 4, "race", kind="name c0"),
        text(WIDTH - 122, heights[1] + 4, "flat-strong", kind="name c1"),
    ]
    return chart(232, "Answerability by the size of the corpus", marks)
