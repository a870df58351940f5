"""SVG elements and axes. Colours come from the page's style sheet, so that light and dark themes work."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

WIDTH = 720
"""The width of a chart on a wide page."""
NARROW = 360
"""The width of the same chart on a phone: its letters keep their size, its marks move."""


def element(tag: str, attributes: Mapping[str, object], content: str | None = None) -> str:
    """An SVG element; `content` is markup, None closes the tag at once."""
    head = " ".join([tag, *(f'{name}="{escape(str(value))}"' for name, value in attributes.items())])
    return f"<{head}/>" if content is None else f"<{head}>{content}</{tag}>"


def escape_text(text: str) -> str:
    """Escape text for XML, which allows no control characters."""
    return escape("".join(char if char.isprintable() else "\ufffd" for char in text))


def text(x: float, y: float, content: str, anchor: str = "start", kind: str = "") -> str:
    attributes = {"x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor, "class": kind}
    return element("text", attributes, escape_text(content))


def line(x1: float, y1: float, x2: float, y2: float, kind: str = "axis") -> str:
    ends = {"x1": f"{x1:.1f}", "y1": f"{y1:.1f}", "x2": f"{x2:.1f}", "y2": f"{y2:.1f}"}
    return element("line", {**ends, "class": kind})


def circle(x: float, y: float, kind: str, tip: str = "", radius: float = 5.0) -> str:
    return element("circle", {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": radius, "class": kind}, title(tip))


def bar(x: float, y: float, width: float, height: float, kind: str, tip: str = "") -> str:
    box = {"x": f"{x:.2f}", "y": f"{y:.2f}", "width": f"{max(width, 0.0):.2f}", "height": f"{max(height, 0.0):.2f}"}
    return element("rect", {**box, "class": kind}, title(tip))


def polyline(points: Sequence[tuple[float, float]], attributes: Mapping[str, object]) -> str:
    return element("polyline", {"points": " ".join(f"{x:.1f},{y:.1f}" for x, y in points), **attributes})


def title(tip: str) -> str:
    """The tooltip of an element, also read by screen readers."""
    return element("title", {}, escape_text(tip)) if tip else ""


def document(attributes: Mapping[str, object], marks: Sequence[str]) -> str:
    """An SVG document: one mark per line."""
    return element("svg", attributes, "\n".join(["", *marks, ""]))


def chart(height: float, label: str, marks: Sequence[str], width: float = WIDTH) -> str:
    """A chart of a page: it takes the page's width."""
    view = f"0 0 {width:.0f} {height:.0f}"
    return document({"class": "chart", "viewBox": view, "role": "img", "aria-label": label}, marks)


@dataclass(frozen=True)
class PlotAxis:
    """Maps values to coordinates: `at(value)`; `logarithmic` for times."""

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
        """Round values within the axis."""
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


def padded_range(values: Sequence[float], room: float = 0.08) -> tuple[float, float]:
    """The smallest and the largest value, with padding."""
    low, high = min(values), max(values)
    extra = (high - low) * room or abs(high) * room or 0.05
    return low - extra, high + extra


def x_axis(axis: PlotAxis, y: float, top: float, label: str, form: str = "{:g}", count: int = 5) -> list[str]:
    """A horizontal axis with its grid and about `count` ticks."""
    marks = [line(axis.start, y, axis.end, y)]
    for value in axis.ticks(count):
        x = axis.at(value)
        marks += [line(x, top, x, y, "grid"), text(x, y + 16, form.format(value), "middle", "tick")]
    return [*marks, text((axis.start + axis.end) / 2, y + 34, label, "middle", "label")]


def y_axis(axis: PlotAxis, x: float, end: float, label: str, form: str = "{:.2f}") -> list[str]:
    """A vertical axis with its grid and its label above it."""
    marks = [line(x, axis.start, x, axis.end)]
    for value in axis.ticks():
        y = axis.at(value)
        marks += [line(x, y, end, y, "grid"), text(x - 6, y + 4, form.format(value), "end", "tick")]
    return [*marks, text(x, axis.end - 8, label, "start", "label")]
