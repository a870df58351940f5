"""Renders a sweep as a Markdown table, best cell first, with its conclusion above and its gates below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.bench.grid.axes import format_value
from assay.bench.receipt import Receipt

MAX_METRICS = 4
"""The number of metrics in the table; receipts have all of them."""
HEADLINES = {"pass": "Winner", "fail": "None passes", "not_measured": "Not measured"}


def headline(grid: Receipt) -> str:
    """`Winner: …` or `None passes: …`."""
    return f"{HEADLINES[grid.measured['verdict']]}: {grid.measured['why']}"


def sort_cells(grid: Receipt) -> list[Mapping[str, Any]]:
    """Sort cells as in the selection: best first, ties by fewer changes, then by digest; unmeasured ones last."""
    rows: Sequence[Mapping[str, Any]] = grid.canonical["cells"]
    worst = float("inf")
    return sorted(
        rows, key=lambda row: (worst if row["value"] is None else -row["value"], row["changes"], row["digest"])
    )


def render_sweep(grid: Receipt) -> str:
    canonical = grid.canonical
    dataset, pick, base = canonical["dataset"], canonical["pick"]["metric"], canonical["base"]
    keys = [axis["key"] for axis in canonical["axes"]]
    metrics = [pick, *(name for name in canonical["cells"][0]["scores"] if name != pick)][:MAX_METRICS]
    lines = [
        f"# {_plain(dataset['name'])}: {', '.join(map(_plain, keys))}",
        "",
        f"**{_plain(headline(grid))}**",
        "",
        f"Base {_plain(base['name'])}. Picked by {pick} on {_plain(dataset['dev']['split'])} "
        f"({dataset['dev']['queries']} queries; ties: {canonical['pick']['ties']}), confirmed on "
        f"{_plain(dataset['test']['split'])} ({dataset['test']['queries']} queries). Every cell is a run on "
        f"{_plain(dataset['dev']['split'])}; the best of many looks better there than it is.",
        "",
        *(f"- {_plain(note)}" for note in canonical["notes"]),
        *([""] if canonical["notes"] else []),
        _line([*keys, *metrics, "against base", "cell"]),
        _line(["---"] * len(keys) + ["---:"] * (len(metrics) + 1) + ["---"]),
        *(_line(_cells(row, grid, keys, metrics)) for row in sort_cells(grid)),
        "",
    ]
    gate = canonical["confirmation"]
    if gate is not None:
        lines += ["## On test", "", _line(["gate", "verdict", "why"]), _line(["---"] * 3)]
        gates = [*gate["gate"]["gates"], *grid.measured["gate"]["gates"]]
        lines += [_line([one["name"], one["verdict"], one["why"]]) for one in gates]
        lines.append("")
    return "\n".join(lines)


def _cells(row: Mapping[str, Any], grid: Receipt, keys: Sequence[str], metrics: Sequence[str]) -> list[str]:
    base = grid.canonical["cells"][0]
    picked = grid.canonical["picked"]
    marks = "base" if row is base else "**picked**" if picked and picked["digest"] == row["digest"] else ""
    values = [format_value(row["settings"][key]) if key in row["settings"] else "·" for key in keys]
    if row["value"] is None:
        return [*values, *["–"] * (len(metrics) + 1), f"not measured: {row['why']}"]
    scores = [f"{row['scores'][name]:.4f}" if row["scores"].get(name) is not None else "–" for name in metrics]
    against = "–" if base["value"] is None else f"{row['value'] - base['value']:+.4f}"
    return [*values, *scores, against, marks]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_plain(cell) for cell in cells) + " |"


def _plain(text: str) -> str:
    """Escape text for a Markdown table."""
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split())
