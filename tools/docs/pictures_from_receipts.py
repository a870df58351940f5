"""Draws the pictures of the documents from committed receipts.

A picture is self-contained (colours and background), because a viewer applies none of our styles.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from assay.page.svg import WIDTH, PlotAxis, chart, circle, line, padded_range, polyline, text, x_axis, y_axis
from tools.docs.numbers_from_fusion import ALPHAS, mean, sets

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "pictures"
RECEIPTS = Path(__file__).resolve().parents[2] / "receipts"
_STYLE = """<style>
text { font: 12px system-ui, sans-serif; fill: #1b1f24; } .tick, .label { fill: #5d6670; font-size: 11px; }
.axis { stroke: #5d6670; } .grid { stroke: #d5dae0; stroke-width: .7; } polyline { fill: none; stroke-width: 2; }
polyline.a { stroke: #0072b2; } circle.a { fill: #0072b2; } polyline.b { stroke: #d55e00; } circle.b { fill: #d55e00; }
.flat { stroke-width: 1.5; stroke-dasharray: 5 4; } .c { stroke: #009e73; } .d { stroke: #7b4ba0; }
text.c { fill: #009e73; stroke: none; } text.d { fill: #7b4ba0; stroke: none; }
text.a { fill: #0072b2; stroke: none; } text.b { fill: #d55e00; stroke: none; }
</style>"""
_MORE_COLOURS = """<style>
circle.c { fill: #009e73; stroke: none; } circle.d { fill: #7b4ba0; stroke: none; }
polyline.e { stroke: #8a6d00; } circle.e { fill: #8a6d00; } text.e { fill: #8a6d00; }
</style>"""
_PAPER = '<rect width="100%" height="100%" fill="#fff"/>'


def draw_fusion() -> str:
    """Mean nDCG@10 over the test splits of all public sets, by the weight of meaning in a convex fusion."""
    names = sets("human")

    def over_all(system: str) -> float:
        return float(np.mean([mean(name, "test", system) for name in names]))

    ends = {"0": over_all("bm25"), "1": over_all("dense")}
    curves = {
        ("a", "min-max"): {"0": ends["0"], **{a: over_all(f"minmax-{a}") for a in ALPHAS}, "1": ends["1"]},
        ("b", "TM2C2"): {"0": ends["0"], **{a: over_all(f"tm2c2-{a}") for a in ALPHAS}, "1": ends["1"]},
    }
    flat = {("c", "RRF, c = 60"): over_all("rrf-60"), ("d", "DBSF"): over_all("dbsf")}
    values = [v for curve in curves.values() for v in curve.values()] + list(flat.values())
    across, up = PlotAxis(0.0, 1.0, 70, WIDTH - 110), PlotAxis(*padded_range(values), 320, 44)
    label = f"mean nDCG@10, test splits of {len(names)} public sets"
    marks = [_STYLE, _PAPER, *x_axis(across, 320, 44, "weight of meaning: 0 is words alone, 1 is vectors alone")]
    marks += y_axis(up, 70, WIDTH - 110, label, "{:.3f}")
    for (kind, name), value in flat.items():
        marks += [line(70, up.at(value), WIDTH - 110, up.at(value), f"flat {kind}")]
        marks += [text(WIDTH - 104, up.at(value) + 4, name, kind=kind)]
    for (kind, name), curve in curves.items():
        points = [(across.at(float(alpha)), up.at(value)) for alpha, value in curve.items()]
        marks += [polyline(points, {"class": kind})]
        marks += [
            circle(x, y, kind, f"{name} {alpha}: {value:.3f}", 3.5)
            for (x, y), (alpha, value) in zip(points, curve.items(), strict=True)
        ]
    for (kind, name), alpha in zip(curves, ("0.4", "0.8"), strict=True):
        marks.append(text(across.at(float(alpha)) + 8, up.at(curves[kind, name][alpha]) - 10, name, kind=kind))
    image = chart(364, "Fusion by the weight of meaning", marks)
    return image.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1) + "\n"


def draw_growth() -> str:
    """Processor time of a query by rows: every vector compared, and by a graph, on one and on three nodes; codes."""
    receipt = json.loads((RECEIPTS / "cluster_growth.json").read_text("utf-8"))["measured"]
    curves: dict[tuple[str, str], dict[int, float]] = {}
    for name, part in receipt["parts"].items():
        for kind, (vectors, nodes) in _GROWTH_CURVES.items():
            if name.split("-")[0] == vectors and part["nodes"] == nodes:
                label = f"{vectors}, {nodes} {'node' if nodes == 1 else 'nodes'}"
                curves.setdefault((kind, label), {})[part["rows"]] = part["query"]["k=100"]["server_cpu_ms"]
    curves = {key: curve for key, curve in curves.items() if len(curve) > 1}
    values = [value for curve in curves.values() for value in curve.values()]
    sizes = [size for curve in curves.values() for size in curve]
    across = PlotAxis(min(sizes) * 0.8, max(sizes) * 1.2, 70, WIDTH - 130, logarithmic=True)
    up = PlotAxis(min(values) * 0.8, max(values) * 1.25, 320, 44, logarithmic=True)
    marks = [_STYLE, _MORE_COLOURS, _PAPER, *x_axis(across, 320, 44, "rows in the index (384 dimensions)", "{:,.0f}")]
    marks += y_axis(up, 70, WIDTH - 130, "processor time of a query for 100 rows, all nodes, ms", "{:g}")
    ends: list[tuple[float, float, str, str]] = []
    for (kind, name), curve in curves.items():
        points = [(across.at(size), up.at(value)) for size, value in sorted(curve.items())]
        marks += [polyline(points, {"class": kind})]
        marks += [
            circle(x, y, kind, f"{name}, {size:,} rows: {value:g} ms", 3.5)
            for (x, y), (size, value) in zip(points, sorted(curve.items()), strict=True)
        ]
        ends.append((points[-1][0] + 8, points[-1][1] + 4, kind, name))
    for x, y, kind, name in _spread(ends):
        marks.append(text(x, y, name, kind=kind))
    image = chart(364, "Processor time of a query by rows", marks)
    return image.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1) + "\n"


def _spread(labels: list[tuple[float, float, str, str]]) -> list[tuple[float, float, str, str]]:
    """Labels at the same place across, moved down until none covers another."""
    lowest: dict[float, float] = {}
    spread = []
    for x, y, kind, name in sorted(labels):
        lowest[x] = max(y, lowest.get(x, y - _LINE) + _LINE)
        spread.append((x, lowest[x], kind, name))
    return spread


_LINE = 15.0
_GROWTH_CURVES = {"a": ("exact", 1), "b": ("exact", 3), "c": ("hnsw", 1), "d": ("hnsw", 3), "e": ("int8", 1)}
"""Colour → kind of search and nodes."""
PICTURE_WRITERS: dict[str, Callable[[], str]] = {"fusion.svg": draw_fusion, "cluster-growth.svg": draw_growth}


def stale_pictures() -> list[str]:
    """A message for every picture that does not match its receipts."""
    return [
        f"docs/pictures/{name} does not match its receipts; run: make docs"
        for name, draw in PICTURE_WRITERS.items()
        if not (PICTURES / name).exists() or (PICTURES / name).read_text("utf-8") != draw()
    ]


def main() -> None:
    for name, draw in PICTURE_WRITERS.items():
        (PICTURES / name).write_text(draw(), "utf-8")


if __name__ == "__main__":
    main()
