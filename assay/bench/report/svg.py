"""The few marks our pictures are made of, as SVG text. Colours come from the page's style, so both themes work."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH = 720


def text(x: float, y: float, said: str, anchor: str = "start", kind: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{escape(said)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str = "axis") -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def dot(x: float, y: float, kind: str, tip: str = "", radius: float = 5.0) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" class="{kind}">{title(tip)}</circle>'


def bar(x: float, y: float, width: float, height: float, kind: str, tip: str = "") -> str:
    place = f'x="{x:.2f}" y="{y:.2f}" width="{max(width, 0.0):.2f}" height="{max(height, 0.0):.2f}"'
    return f'<rect {place} class="{kind}">{title(tip)}</rect>'


def path(points: Sequence[tuple[float, float]], kind: str) -> str:
    return f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}" class="{kind}"/>'


def title(tip: str) -> str:
    """What a pointer sees, and a screen reader says."""
    return f"<title>{escape(tip)}</title>" if tip else ""


def picture(height: float, label: str, marks: Sequence[str]) -> str:
    head = f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{escape(label)}">'
    return "\n".join([head, *marks, "</svg>"])


@dataclass(frozen=True)
class PlotAxis:
    """Values to places: `at(value)`; `logarithmic` for times."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def at(self, value: float) -> float:
        low, high, v = self.low, self.high, value
        if self.logarithmic:
            low, high, v = math.log10(low), math.log10(high), math.log10(max(value, 1e-9))
        share = (v - low) / (high - low) if high > low else 0.5
        return self.start + share * (self.end - self.start)

    def ticks(self, count: int = 5) -> list[float]:
        """Round values inside the axis."""
        if self.logarithmic:
            powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            fine = [m * 10.0**p for p in powers for m in (1, 2, 5)]
            return [v for v in fine if self.low <= v <= self.high]
        raw = (self.high - self.low) / max(count, 1)
        if raw <= 0.0:
            return [self.low]
        unit = 10.0 ** math.floor(math.log10(raw))
        step = next(unit * m for m in (1, 2, 2.5, 5, 10) if unit * m >= raw)
        first = math.ceil(self.low / step - 1e-9)
        return [place * step for place in range(first, math.floor(self.high / step + 1e-9) + 1)]


def spread(values: Sequence[float], room: float = 0.08) -> tuple[float, float]:
    """The least and the greatest of some values, with room around them."""
    low, high = min(values), max(values)
    extra = (high - low) * room or abs(high) * room or 0.05
    return low - extra, high + extra


def below(axis: PlotAxis, y: float, top: float, label: str, form: str = "{:g}") -> list[str]:
    """A horizontal axis with its grid."""
    marks = [line(axis.start, y, axis.end, y)]
    for value in axis.ticks():
        x = axis.at(value)
        marks += [line(x, top, x, y, "grid"), text(x, y + 16, form.format(value), "middle", "tick")]
    return [*marks, text((axis.start + axis.end) / 2, y + 34, label, "middle", "label")]


def beside(axis: PlotAxis, x: float, end: float, label: str, form: str = "{:.2f}") -> list[str]:
    """A vertical axis with its grid; its label stands above it."""
    marks = [line(x, axis.start, x, axis.end)]
    for value in axis.ticks():
        y = axis.at(value)
        marks += [line(x, y, end, y, "grid"), text(x - 6, y + 4, form.format(value), "end", "tick")]
    return [*marks, text(x, axis.end - 8, label, "start", "label")]
