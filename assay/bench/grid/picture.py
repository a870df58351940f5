"""A sweep as one self-contained SVG: a line for one axis, a heat map for two, one heat map for each value of a third.

Colour is the difference to the base: blue above, red below, white at it. The base and the picked cell are marked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import product
from typing import Any

from assay.bench.grid.table import HEADLINES
from assay.bench.grid.vary import shown
from assay.bench.receipt import Receipt

LEFT, TOP, CELL_WIDTH, CELL_HEIGHT, GAP = 150, 108, 84, 40, 46
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1f2328}.small{font-size:11px;fill:#57606a}"
    ".title{font-size:16px;font-weight:600}.value{font-size:12px;text-anchor:middle}"
    ".end{text-anchor:end}.mid{text-anchor:middle}"
)

Cells = Mapping[tuple[Any, ...], Mapping[str, Any]]


def svg(grid: Receipt) -> str:
    """The picture of a grid's receipt."""
    axes: Sequence[Mapping[str, Any]] = grid.canonical["axes"]
    keys = [axis["key"] for axis in axes]
    cells = {tuple(row["settings"][key] for key in keys): row for row in grid.canonical["cells"] if row["settings"]}
    return _line(grid, axes[0], cells) if len(axes) == 1 else _maps(grid, axes, cells)


def _maps(grid: Receipt, axes: Sequence[Mapping[str, Any]], cells: Cells) -> str:
    rows, columns, *others = axes
    panels = list(product(*(axis["values"] for axis in others)))
    high = CELL_HEIGHT * len(rows["values"]) + GAP + (18 if others else 0)
    width = max(LEFT + CELL_WIDTH * len(columns["values"]) + 24, 560)
    drawn = _head(grid)
    for number, panel in enumerate(panels):
        top = TOP + number * (high + 14)
        if others:
            said = ", ".join(f"{axis['key']} = {shown(value)}" for axis, value in zip(others, panel, strict=True))
            drawn.append(_text(LEFT, top + 4, said, "small"))
            top += 18
        drawn += _map(grid, rows, columns, {key[:2]: row for key, row in cells.items() if key[2:] == panel}, top)
    return _whole(grid, drawn, width, TOP + len(panels) * (high + 14) + 10)


def _map(grid: Receipt, rows: Mapping[str, Any], columns: Mapping[str, Any], cells: Cells, top: int) -> list[str]:
    drawn = []
    for down, row in enumerate(rows["values"]):
        y = top + down * CELL_HEIGHT
        drawn.append(_text(LEFT - 8, y + CELL_HEIGHT / 2 + 4, shown(row), "end"))
        for right, column in enumerate(columns["values"]):
            drawn += _cell(grid, cells.get((row, column)), LEFT + right * CELL_WIDTH, y)
    bottom = top + CELL_HEIGHT * len(rows["values"])
    for right, column in enumerate(columns["values"]):
        drawn.append(_text(LEFT + (right + 0.5) * CELL_WIDTH, bottom + 18, shown(column), "mid"))
    drawn.append(_text(LEFT - 8, top - 8, rows["key"], "small end"))
    drawn.append(_text(LEFT + CELL_WIDTH * len(columns["values"]) / 2, bottom + 36, columns["key"], "small mid"))
    return drawn


def _cell(grid: Receipt, row: Mapping[str, Any] | None, x: float, y: float) -> list[str]:
    """A cell of the map; a combination that another cell stands for is left empty."""
    if row is None or row["value"] is None:
        return [_box(x, y, "#f6f8fa"), _text(x + CELL_WIDTH / 2, y + CELL_HEIGHT / 2 + 4, "–", "value")]
    drawn = [_box(x, y, _colour(grid, row["value"]))]
    mark = _mark(grid, row)
    if mark:
        drawn.append(
            f'<rect x="{x + 2:g}" y="{y + 2:g}" width="{CELL_WIDTH - 4}" height="{CELL_HEIGHT - 4}" fill="none" '
            f'stroke="#1f2328" stroke-width="{2.5 if mark == "picked" else 1}"'
            f"{'' if mark == 'picked' else ' stroke-dasharray=' + chr(34) + '4 3' + chr(34)}/>"
        )
    drawn.append(_text(x + CELL_WIDTH / 2, y + CELL_HEIGHT / 2 + 4, f"{row['value']:.4f}", "value"))
    return drawn


def _line(grid: Receipt, axis: Mapping[str, Any], cells: Cells) -> str:
    """One axis: a point for each value, evenly spaced, and the base as a dashed line."""
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

    drawn = [*_head(grid), f'<path d="M{LEFT} {TOP}V{bottom}H{right}" fill="none" stroke="#8c959f"/>']
    ticks = (low + margin, (low + high) / 2, high - margin)
    drawn += [_text(LEFT - 8, y(tick) + 4, f"{tick:.4f}", "small end") for tick in ticks]
    if base is not None:
        drawn.append(f'<path d="M{LEFT} {y(base):.1f}H{right}" stroke="#57606a" stroke-dasharray="5 4"/>')
        drawn.append(_text(right + 8, y(base) + 4, f"base {base:.4f}", "small"))
    points = []
    for place, value in enumerate(axis["values"]):
        drawn.append(_text(x(place), bottom + 18, shown(value), "mid"))
        row = cells.get((value,))
        if row is not None and row["value"] is not None:
            points.append((x(place), y(row["value"]), row))
    drawn.append(
        f'<polyline points="{" ".join(f"{px:.1f},{py:.1f}" for px, py, _ in points)}" fill="none" '
        'stroke="#0969da" stroke-width="2"/>'
    )
    for place, (px, py, row) in enumerate(points):
        rises = place + 1 < len(points) and points[place + 1][1] < py - 8
        picked = _mark(grid, row) == "picked"
        drawn.append(f'<circle cx="{px:.1f}" cy="{py:.1f}" r="{7 if picked else 4}" fill="#0969da"/>')
        drawn.append(_text(px, py + (22 if rises else -12), f"{row['value']:.4f}", "value"))
    drawn.append(_text((LEFT + right) / 2, bottom + 40, axis["key"], "small mid"))
    return _whole(grid, drawn, width, height)


def _head(grid: Receipt) -> list[str]:
    dataset, pick = grid.canonical["dataset"], grid.canonical["pick"]["metric"]
    base = grid.canonical["cells"][0]["value"]
    said = f"{pick} on {dataset['dev']['split']}, {dataset['dev']['queries']} queries"
    said += f"; base {grid.canonical['base']['name']}"
    drawn = len(grid.canonical["axes"]) == 1 or grid.canonical["cells"][0]["settings"]  # else it has no place
    said += "" if base is None else f" {base:.4f}{' (dashed)' if drawn else ''}"
    return [
        _text(20, 26, f"{dataset['name']}: {HEADLINES[grid.measured['verdict']].lower()}", "title"),
        _text(20, 46, grid.measured["why"], ""),
        _text(20, 64, said if grid.canonical["picked"] is None else f"{said}; picked cell in bold", "small"),
    ]


def _mark(grid: Receipt, row: Mapping[str, Any]) -> str:
    picked = grid.canonical["picked"]
    if picked is not None and picked["digest"] == row["digest"]:
        return "picked"
    return "base" if row["digest"] == grid.canonical["base"]["digest"] else ""


def _colour(grid: Receipt, value: float) -> str:
    """White at the base, the full colour at the largest difference of the sweep."""
    base = grid.canonical["cells"][0]["value"]
    base = value if base is None else base
    most = max((abs(row["value"] - base) for row in grid.canonical["cells"] if row["value"] is not None), default=0.0)
    part = (value - base) / most if most else 0.0
    full = (84, 160, 235) if part >= 0 else (235, 120, 104)
    return "#" + "".join(f"{round(255 + (end - 255) * abs(part)):02x}" for end in full)


def _box(x: float, y: float, colour: str) -> str:
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{CELL_WIDTH}" height="{CELL_HEIGHT}" fill="{colour}" stroke="#fff" '
        'stroke-width="2"/>'
    )


def _text(x: float, y: float, said: str, kind: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{kind}">{escape(_printable(said))}</text>'


def _printable(said: str) -> str:
    """XML knows no control characters."""
    return "".join(char if char.isprintable() else "\ufffd" for char in said)


def _whole(grid: Receipt, drawn: Sequence[str], width: float, height: float) -> str:
    """The document, wide enough for what it says."""
    width = max(width, 40 + 7 * len(grid.measured["why"]))
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
    head += f'viewBox="0 0 {width:g} {height:g}" role="img">'
    sheet = f'<style>{_STYLE}</style>\n<rect width="100%" height="100%" fill="#fff"/>'
    return "\n".join([head, sheet, *drawn, "</svg>\n"])
