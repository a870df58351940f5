"""Draws a sweep as a self-contained SVG: a line for one axis, a heat map for two, one heat map per value of a third.

Colour shows the difference to the base: blue above, red below, white equal. The base and the picked cell are marked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from assay.bench.grid.axes import format_value
from assay.bench.grid.summary import HEADLINES
from assay.bench.receipt import Receipt
from assay.page.svg import document, element, escape_text, polyline

LEFT, TOP, CELL_WIDTH, CELL_HEIGHT, GAP = 150, 108, 84, 40, 46
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1f2328}.small{font-size:11px;fill:#57606a}"
    ".title{font-size:16px;font-weight:600}.value{font-size:12px;text-anchor:middle}"
    ".end{text-anchor:end}.mid{text-anchor:middle}"
)

Cells = Mapping[tuple[Any, ...], Mapping[str, Any]]


def draw_sweep(grid: Receipt) -> str:
    """Draw the receipt of a sweep."""
    axes: Sequence[Mapping[str, Any]] = grid.canonical["axes"]
    keys = [axis["key"] for axis in axes]
    cells = {tuple(row["settings"][key] for key in keys): row for row in grid.canonical["cells"] if row["settings"]}
    return _draw_line(grid, axes[0], cells) if len(axes) == 1 else _draw_maps(grid, axes, cells)


def _draw_maps(grid: Receipt, axes: Sequence[Mapping[str, Any]], cells: Cells) -> str:
    rows, columns, *others = axes
    panels = list(product(*(axis["values"] for axis in others)))
    high = CELL_HEIGHT * len(rows["values"]) + GAP + (18 if others else 0)
    width = max(LEFT + CELL_WIDTH * len(columns["values"]) + 24, 560)
    marks = _draw_head(grid)
    for number, panel in enumerate(panels):
        top = TOP + number * (high + 14)
        if others:
            label = ", ".join(
                f"{axis['key']} = {format_value(value)}" for axis, value in zip(others, panel, strict=True)
            )
            marks.append(_text(LEFT, top + 4, label, "small"))
            top += 18
        marks += _draw_map(grid, rows, columns, {key[:2]: row for key, row in cells.items() if key[2:] == panel}, top)
    return _draw_document(grid, marks, width, TOP + len(panels) * (high + 14) + 10)


def _draw_map(grid: Receipt, rows: Mapping[str, Any], columns: Mapping[str, Any], cells: Cells, top: int) -> list[str]:
    marks = []
    for down, row in enumerate(rows["values"]):
        y = top + down * CELL_HEIGHT
        marks.append(_text(LEFT - 8, y + CELL_HEIGHT / 2 + 4, format_value(row), "end"))
        for right, column in enumerate(columns["values"]):
            marks += _draw_cell(grid, cells.get((row, column)), LEFT + right * CELL_WIDTH, y)
    bottom = top + CELL_HEIGHT * len(rows["values"])
    for right, column in enumerate(columns["values"]):
        marks.append(_text(LEFT + (right + 0.5) * CELL_WIDTH, bottom + 18, format_value(column), "mid"))
    marks.append(_text(LEFT - 8, top - 8, rows["key"], "small end"))
    marks.append(_text(LEFT + CELL_WIDTH * len(columns["values"]) / 2, bottom + 36, columns["key"], "small mid"))
    return marks


def _draw_cell(grid: Receipt, row: Mapping[str, Any] | None, x: float, y: float) -> list[str]:
    """A cell of the map; a combination that equals another cell's pipeline is left empty."""
    if row is None or row["value"] is None:
        return [_box(x, y, "#f6f8fa"), _text(x + CELL_WIDTH / 2, y + CELL_HEIGHT / 2 + 4, "–", "value")]
    marks = [_box(x, y, _colour(grid, row["value"]))]
    mark = _mark(grid, row)
    if mark:
        box = {"x": f"{x + 2:g}", "y": f"{y + 2:g}", "width": CELL_WIDTH - 4, "height": CELL_HEIGHT - 4, "fill": "none"}
        stroke = {"stroke-width": 2.5} if mark == "picked" else {"stroke-width": 1, "stroke-dasharray": "4 3"}
        marks.append(element("rect", {**box, "stroke": "#1f2328", **stroke}))
    marks.append(_text(x + CELL_WIDTH / 2, y + CELL_HEIGHT / 2 + 4, f"{row['value']:.4f}", "value"))
    return marks


def _draw_line(grid: Receipt, axis: Mapping[str, Any], cells: Cells) -> str:
    """Draw one axis: a point for each value, evenly spaced, and the base as a dashed line."""
    width, height = max(640, LEFT + 90 * (len(axis["values"]) + 1)), 330
    base = grid.canonical["cells"][0]["value"]
    values = [row["value"] for row in cells.values() if row["value"] is not None] + ([] if base is None else [base])
    low, high = min(values, default=0.0), max(values, default=1.0)
    margin = (high - low) * 0.15 or 0.01
    low, high = low - margin, high + margin
    bottom, right = height - 60, width - 110

    def y(value: float) -> float:
        return TOP + (high - value) / (high - low) * (bottom - TOP)

    def x(place: int) -> float:
        count = len(axis["values"])
        return LEFT + 30 + place * (right - LEFT - 60) / max(1, count - 1)

    frame = {"d": f"M{LEFT} {TOP}V{bottom}H{right}", "fill": "none", "stroke": "#8c959f"}
    marks = [*_draw_head(grid), element("path", frame)]
    ticks = (low + margin, (low + high) / 2, high - margin)
    marks += [_text(LEFT - 8, y(tick) + 4, f"{tick:.4f}", "small end") for tick in ticks]
    if base is not None:
        dashes = {"stroke": "#57606a", "stroke-dasharray": "5 4"}
        marks.append(element("path", {"d": f"M{LEFT} {y(base):.1f}H{right}", **dashes}))
        marks.append(_text(right + 8, y(base) + 4, f"base {base:.4f}", "small"))
    points = []
    for place, value in enumerate(axis["values"]):
        marks.append(_text(x(place), bottom + 18, format_value(value), "mid"))
        row = cells.get((value,))
        if row is not None and row["value"] is not None:
            points.append((x(place), y(row["value"]), row))
    curve = {"fill": "none", "stroke": "#0969da", "stroke-width": 2}
    marks.append(polyline([(px, py) for px, py, _ in points], curve))
    for place, (px, py, row) in enumerate(points):
        rises = place + 1 < len(points) and points[place + 1][1] < py - 8
        picked = _mark(grid, row) == "picked"
        centre = {"cx": f"{px:.1f}", "cy": f"{py:.1f}"}
        marks.append(element("circle", {**centre, "r": 7 if picked else 4, "fill": "#0969da"}))
        marks.append(_text(px, py + (22 if rises else -12), f"{row['value']:.4f}", "value"))
    marks.append(_text((LEFT + right) / 2, bottom + 40, axis["key"], "small mid"))
    return _draw_document(grid, marks, width, height)


def _draw_head(grid: Receipt) -> list[str]:
    dataset, pick = grid.canonical["dataset"], grid.canonical["pick"]["metric"]
    base = grid.canonical["cells"][0]["value"]
    subtitle = f"{pick} on {dataset['dev']['split']}, {dataset['dev']['queries']} queries"
    subtitle += f"; base {grid.canonical['base']['name']}"
    base_is_drawn = len(grid.canonical["axes"]) == 1 or grid.canonical["cells"][0]["settings"]  # else it has no place
    subtitle += "" if base is None else f" {base:.4f}{' (dashed)' if base_is_drawn else ''}"
    return [
        _text(20, 26, f"{dataset['name']}: {HEADLINES[grid.measured['verdict']].lower()}", "title"),
        _text(20, 46, grid.measured["why"], ""),
        _text(20, 64, subtitle if grid.canonical["picked"] is None else f"{subtitle}; picked cell in bold", "small"),
    ]


def _mark(grid: Receipt, row: Mapping[str, Any]) -> str:
    picked = grid.canonical["picked"]
    if picked is not None and picked["digest"] == row["digest"]:
        return "picked"
    return "base" if row["digest"] == grid.canonical["base"]["digest"] else ""


def _colour(grid: Receipt, value: float) -> str:
    """White at the base, full colour at the largest difference of the sweep."""
    base = grid.canonical["cells"][0]["value"]
    base = value if base is None else base
    most = max((abs(row["value"] - base) for row in grid.canonical["cells"] if row["value"] is not None), default=0.0)
    part = (value - base) / most if most else 0.0
    full = (84, 160, 235) if part >= 0 else (235, 120, 104)
    return "#" + "".join(f"{round(255 + (end - 255) * abs(part)):02x}" for end in full)


def _box(x: float, y: float, colour: str) -> str:
    box = {"x": f"{x:g}", "y": f"{y:g}", "width": CELL_WIDTH, "height": CELL_HEIGHT}
    return element("rect", {**box, "fill": colour, "stroke": "#fff", "stroke-width": 2})


def _text(x: float, y: float, content: str, kind: str) -> str:
    return element("text", {"x": f"{x:g}", "y": f"{y:g}", "class": kind}, escape_text(content))


def _draw_document(grid: Receipt, marks: Sequence[str], width: float, height: float) -> str:
    """The SVG document, wide enough for its text."""
    width = max(width, 40 + 7 * len(grid.measured["why"]))
    size = {"width": f"{width:g}", "height": f"{height:g}", "viewBox": f"0 0 {width:g} {height:g}"}
    background = element("rect", {"width": "100%", "height": "100%", "fill": "#fff"})
    head = [element("style", {}, _STYLE), background]
    return document({"xmlns": "http://www.w3.org/2000/svg", **size, "role": "img"}, [*head, *marks]) + "\n"
