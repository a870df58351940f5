"""Draws the charts of a board: quality against latency, differences with intervals, budget curves, wins and losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from assay.bench.report.boards import Board
from assay.bench.report.svg import (
    WIDTH,
    PlotAxis,
    bar,
    chart,
    circle,
    line,
    padded_range,
    polyline,
    text,
    x_axis,
    y_axis,
)
from assay.bench.types import ALL

COLOURS = 8
"""The number of colours of the page's palette; further systems reuse them."""


def assign_colours(board: Board) -> dict[str, int]:
    """System → its colour, the same in every chart of a board."""
    return {name: place % COLOURS for place, name in enumerate(sorted(run.system for run in board.systems))}


def draw_quality_latency(board: Board) -> str:
    """Every timed system: the median search in milliseconds (logarithmic) and the mean score with its interval."""
    timed = [run for run in board.systems if run.latency_ms.get("total", {}).get("p50")]
    if not timed:
        return ""
    ms = {run.system: run.latency_ms["total"]["p50"] for run in timed}
    ends = [v for run in timed for v in (board.intervals[run.system].low, board.intervals[run.system].high)]
    across = PlotAxis(min(ms.values()) / 1.6, max(ms.values()) * 2.6, 70, WIDTH - 20, logarithmic=True)
    up = PlotAxis(*padded_range(ends), 300, 34)
    marks = [*x_axis(across, 300, 34, "median search, ms"), *y_axis(up, 70, WIDTH - 20, board.metric)]
    shade = assign_colours(board)
    taken: list[tuple[float, float]] = []
    for run in timed:
        x, y = across.at(ms[run.system]), up.at(board.mean(run))
        interval = board.intervals[run.system]
        kind = f"c{shade[run.system]}"
        tip = f"{run.system}: {board.metric} {board.mean(run):.4f} [{interval.low:.4f}, {interval.high:.4f}], "
        tip += f"{ms[run.system]:.2f} ms"
        marks += [line(x, up.at(interval.low), x, up.at(interval.high), f"interval {kind}"), circle(x, y, kind, tip)]
        height = _free_height(taken, x, y) + 4
        marks.append(
            text(x + 9, height, run.system, kind="name")
            if x < WIDTH - 150
            else text(x - 9, height, run.system, "end", "name")
        )
    return chart(344, f"{board.metric} against latency", marks)


def _free_height(taken: list[tuple[float, float]], x: float, y: float) -> float:
    """The next height for a label at x that overlaps no other label."""
    while any(abs(x - other) < 110 and abs(y - height) < 12 for other, height in taken):
        y += 12
    taken.append((x, y))
    return y


def draw_differences(board: Board) -> str:
    """Every system against the reference, with the interval of its mean difference."""
    rows = {run.system: test for run in board.systems if (test := board.test(run.system)) is not None}
    rows_by_name = {
        name: (t.paired.difference, t.paired.ci_low, t.paired.ci_high, t.p_adjusted) for name, t in rows.items()
    }
    shade = {name: f"c{colour}" for name, colour in assign_colours(board).items()}
    return _draw_forest(rows_by_name, shade, f"{board.metric}, difference to {board.reference}")


def draw_strata(board: Board, system: str) -> str:
    """One system against the reference, in every stratum."""
    rows = {}
    for scope in board.best.scopes():
        test = board.test(system, scope)
        if test is not None:
            name = scope if scope != ALL else "all queries"
            paired = test.paired
            rows[f"{name} ({paired.n})"] = (paired.difference, paired.ci_low, paired.ci_high, test.p_adjusted)
    if len(rows) < 2:
        return ""
    shade = dict.fromkeys(rows, f"c{assign_colours(board)[system]}")
    return _draw_forest(rows, shade, f"{board.metric}, {system} minus {board.reference}")


def _draw_forest(rows: Mapping[str, tuple[float, float, float, float]], shade: Mapping[str, str], label: str) -> str:
    if not rows:
        return ""
    ends = [v for _, low, high, _ in rows.values() for v in (low, high)]
    across = PlotAxis(*padded_range([*ends, 0.0]), 220, WIDTH - 110)
    bottom = 20 + 24 * len(rows)
    marks = [*x_axis(across, bottom, 8, label, "{:+.2f}"), line(across.at(0.0), 8, across.at(0.0), bottom, "zero")]
    for place, (name, (mean, low, high, p)) in enumerate(rows.items()):
        y = 24 + 24 * place
        kind = shade[name]
        tip = f"{name}: {mean:+.4f} [{low:+.4f}, {high:+.4f}], adjusted p {p:.3g}"
        marks += [
            text(210, y + 4, name, "end", "name"),
            line(across.at(low), y, across.at(high), y, f"interval {kind}"),
            circle(across.at(mean), y, kind if p <= 0.05 else f"{kind} hollow", tip),
            text(WIDTH - 100, y + 4, f"{mean:+.3f}  p {p:.2g}", "start", "tick"),
        ]
    return chart(bottom + 42, label, marks)


def draw_budgets(board: Board, metric: str, at: Sequence[int]) -> str:
    """A metric by token budget, one line for each system."""
    shade = assign_colours(board)
    runs = [*board.systems, *board.bounds]
    means = {run.system: [board.mean(run, f"{metric}@{tokens}tok") for tokens in at] for run in runs}
    across = PlotAxis(0, max(at) * 1.02, 70, WIDTH - 150)
    up = PlotAxis(0.0, max(1e-3, *(v for column in means.values() for v in column)) * 1.05, 290, 34)
    marks = [*x_axis(across, 290, 34, "tokens"), *y_axis(up, 70, WIDTH - 150, f"{metric} within the budget")]
    taken: list[tuple[float, float]] = []
    for name, column in sorted(means.items(), key=lambda item: -item[1][-1]):
        kind = f"c{shade[name]}" if name in shade else "bound"
        points = [(across.at(tokens), up.at(value)) for tokens, value in zip(at, column, strict=True)]
        marks.append(polyline(points, {"class": f"curve {kind}"}))
        for (x, y), tokens, value in zip(points, at, column, strict=True):
            marks.append(circle(x, y, kind, f"{name}: {value:.4f} at {tokens} tokens", 3.5))
        marks.append(text(points[-1][0] + 8, _free_height(taken, *points[-1]) + 4, name, kind="name"))
    return chart(334, f"{metric} by token budget", marks)


def draw_wins(board: Board, system: str) -> str:
    """The difference of every query, best first."""
    base = next(run for run in board.systems if run.system == board.reference)
    other = next(run for run in board.systems if run.system == system)
    gap = other.scores[board.metric] - base.scores[board.metric]
    scored = np.flatnonzero(~np.isnan(gap))
    if other is base or not len(scored):
        return ""
    order = scored[np.argsort(-gap[scored], kind="stable")]
    across = PlotAxis(0, len(order), 70, WIDTH - 20)
    up = (
        PlotAxis(-1.0, 1.0, 250, 30)
        if (np.abs(gap[scored]) <= 1.0).all()
        else PlotAxis(*padded_range(gap[scored].tolist()), 250, 30)
    )
    up = PlotAxis(min(up.low, 0.0), max(up.high, 0.0), 250, 30)
    marks = y_axis(up, 70, WIDTH - 20, f"{board.metric}, {system} minus {board.reference}", "{:+.1f}")
    for place, query in enumerate(order.tolist()):
        value = float(gap[query])
        top, bottom = up.at(max(value, 0.0)), up.at(min(value, 0.0))
        kind = "win" if value > 0 else "loss" if value < 0 else "tie"
        width = across.at(place + 1) - across.at(place)
        tip = f"{other.queries[query]}: {value:+.4f}"
        marks.append(bar(across.at(place), top, max(width - 0.3, 0.4), max(bottom - top, 0.6), kind, tip))
    won, lost = int((gap[scored] > 0).sum()), int((gap[scored] < 0).sum())
    counts = f"{won} won, {len(scored) - won - lost} equal, {lost} lost"
    marks += [line(70, up.at(0.0), WIDTH - 20, up.at(0.0), "zero"), text(WIDTH - 20, 22, counts, "end", "tick")]
    return chart(264, f"wins and losses of {system}", marks)
