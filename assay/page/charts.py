"""Charts that several pages share: forests of differences, curves, heat maps.

Each takes a width. Below `_SLIM` names stand above their marks or below the chart instead of beside it, so that letters
keep their size on a phone. Colours are classes of the style sheet; marks have tooltips.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.page.svg import WIDTH, PlotAxis, bar, chart, circle, line, padded_range, polyline, text, x_axis, y_axis

_SLIM = 500
_STEPS = (0.0, 0.05, 0.2, 0.5)
"""Shares above which a cell of a heat map takes the next colour."""


@dataclass(frozen=True)
class ForestRow:
    """A difference with its interval. `kind` is a class of the style sheet, `note` stands at the right end."""

    name: str
    mean: float
    low: float
    high: float
    kind: str
    tip: str
    note: str = ""
    hollow: bool = False


@dataclass(frozen=True)
class Curve:
    """A named line; x and y in the units of the axes."""

    name: str
    points: Sequence[tuple[float, float]]
    kind: str
    tips: Sequence[str]


@dataclass(frozen=True)
class HeatCell:
    """A cell: its share from 0 to 1 decides the colour, `mark` is written into it."""

    share: float
    mark: str
    tip: str


def draw_forest(rows: Sequence[ForestRow], label: str, width: float = WIDTH) -> str:
    """Every row: its mean as a dot on its interval, beside a line at zero."""
    if not rows:
        return ""
    slim = width < _SLIM
    high = 40 if slim else 24
    ends = [end for row in rows for end in (row.low, row.high, row.mean, 0.0)]
    across = PlotAxis(*padded_range(ends), 12 if slim else 220, width - (12 if slim else 110))
    bottom = 20.0 + high * len(rows)
    marks = [*x_axis(across, bottom, 8, label, "{:+.2f}", 4 if slim else 5)]
    marks.append(line(across.at(0.0), 8, across.at(0.0), bottom, "zero"))
    for place, row in enumerate(rows):
        y = 24.0 + high * place + (14 if slim else 0)
        marks += [
            text(2, y - 10, row.name, kind="name") if slim else text(210, y + 4, row.name, "end", "name"),
            line(across.at(row.low), y, across.at(row.high), y, f"interval {row.kind}"),
            circle(across.at(row.mean), y, f"{row.kind} hollow" if row.hollow else row.kind, row.tip),
            text(width - 2, y - 10, row.note, "end", "tick")
            if slim
            else text(width - 100, y + 4, row.note, "start", "tick"),
        ]
    return chart(bottom + 42, label, marks, width)


def draw_curves(
    curves: Sequence[Curve],
    across: tuple[float, float],
    up: tuple[float, float],
    labels: tuple[str, str, str],
    ticks: Mapping[float, str],
    width: float = WIDTH,
    logarithmic: bool = False,
) -> str:
    """Lines over one axis. `labels` are those of the chart, the x axis and the y axis; `ticks` name places on the x
    axis."""
    if not curves:
        return ""
    slim = width < _SLIM
    right, bottom = width - (14 if slim else 150), 290.0
    x, y = PlotAxis(*across, 46, right, logarithmic), PlotAxis(*up, bottom, 34)
    marks = [*y_axis(y, 46, right, labels[2], "{:.3g}")]
    marks.append(line(46, bottom, right, bottom))
    for value, name in ticks.items():
        marks += [line(x.at(value), 34, x.at(value), bottom, "grid")]
        marks += [text(x.at(value), bottom + 16, name, "middle", "tick")]
    marks.append(text((46 + right) / 2, bottom + 34, labels[1], "middle", "label"))
    for curve in curves:
        marks.append(polyline([(x.at(a), y.at(b)) for a, b in curve.points], {"class": f"curve {curve.kind}"}))
        marks += [
            circle(x.at(a), y.at(b), curve.kind, tip, 3.5)
            for (a, b), tip in zip(curve.points, curve.tips, strict=True)
            if tip
        ]
    if slim:
        marks += _draw_legend(curves, bottom + 54, width)
        return chart(bottom + 60 + 18 * ((len(curves) + 1) // 2), labels[0], marks, width)
    heights = spread_labels([y.at(curve.points[-1][1]) for curve in curves], bottom)
    marks += [
        text(right + 10, height + 4, curve.name, kind="name") for curve, height in zip(curves, heights, strict=True)
    ]
    ends = [y.at(curve.points[-1][1]) for curve in curves]
    marks += [
        line(x.at(curve.points[-1][0]) + 4, end, right + 8, height, f"leader {curve.kind}")
        for curve, end, height in zip(curves, ends, heights, strict=True)
    ]
    return chart(bottom + 44, labels[0], marks, width)


def _draw_legend(curves: Sequence[Curve], top: float, width: float) -> list[str]:
    marks = []
    for place, curve in enumerate(curves):
        x, y = 8 + (place % 2) * width / 2, top + 18 * (place // 2)
        marks += [circle(x + 4, y, curve.kind, radius=4), text(x + 14, y + 4, curve.name, kind="name")]
    return marks


def spread_labels(heights: Sequence[float], bottom: float, gap: float = 14.0) -> list[float]:
    """Heights of labels near these, at least `gap` apart, none below the axis."""
    order = sorted(range(len(heights)), key=lambda place: heights[place])
    found = list(heights)
    for place, one in enumerate(order):
        if place:
            found[one] = max(found[one], found[order[place - 1]] + gap)
    lowest = bottom - 4.0
    for one in reversed(order):
        found[one] = min(found[one], lowest)
        lowest = found[one] - gap
    return found


def draw_heat_map(rows: Mapping[str, Sequence[HeatCell]], label: str, width: float = WIDTH) -> str:
    """A row of cells for each name; a row that is too long goes on in the next line."""
    size, left, y = 28.0, 66.0, 8.0
    columns = int((width - left - 4) // size)
    marks = []
    for name, cells in rows.items():
        marks.append(text(left - 8, y + size / 2 + 3, name, "end"))
        for place, cell in enumerate(cells):
            if place and place % columns == 0:
                y += size
            x = left + (place % columns) * size
            step = sum(cell.share > bound for bound in _STEPS)
            marks.append(bar(x, y, size - 3, size - 3, f"heat{step}", cell.tip))
            if cell.mark:
                kind = "cell deep" if step >= 3 else "cell"
                marks.append(text(x + (size - 3) / 2, y + size / 2 + 3, cell.mark, "middle", kind))
        y += size + 8.0
    return chart(y, label, marks, width) if rows else ""
