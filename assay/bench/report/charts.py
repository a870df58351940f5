"""Draws the charts of a board: quality against latency, differences with intervals, budget curves, wins and losses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.bench.compare import ComparisonResult
from assay.bench.report.boards import Board
from assay.bench.types import ALL
from assay.page.charts import Curve, ForestRow, draw_curves, draw_forest
from assay.page.svg import WIDTH, PlotAxis, bar, chart, circle, line, padded_range, text, x_axis, y_axis

COLOURS = 8
"""The number of colours of the page's palette; further systems reuse them."""


def assign_colours(board: Board) -> dict[str, int]:
    """System → its colour, the same in every chart of a board."""
    return {name: place % COLOURS for place, name in enumerate(sorted(run.system for run in board.systems))}


def draw_quality_latency(board: Board, width: float = WIDTH) -> str:
    """Every timed system: the median search in milliseconds (logarithmic) and the mean score with its interval."""
    timed = [run for run in board.systems if run.latency_ms.get("total", {}).get("p50")]
    if not timed:
        return ""
    ms = {run.system: run.latency_ms["total"]["p50"] for run in timed}
    ends = [v for run in timed for v in (board.intervals[run.system].low, board.intervals[run.system].high)]
    across = PlotAxis(min(ms.values()) / 1.6, max(ms.values()) * 2.6, 50, width - 14, logarithmic=True)
    up = PlotAxis(*padded_range(ends), 300, 34)
    marks = [*x_axis(across, 300, 34, "median search, ms"), *y_axis(up, 50, width - 14, board.metric)]
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
            if x < width * 0.6
            else text(x - 9, height, run.system, "end", "name")
        )
    return chart(344, f"{board.metric} against latency", marks, width)


def _free_height(taken: list[tuple[float, float]], x: float, y: float) -> float:
    """The next height for a label at x that overlaps no other label."""
    while any(abs(x - other) < 110 and abs(y - height) < 12 for other, height in taken):
        y += 12
    taken.append((x, y))
    return y


def draw_differences(board: Board, width: float = WIDTH) -> str:
    """Every system against the reference, with the interval of its mean difference."""
    shade = assign_colours(board)
    rows = [
        _make_row(run.system, test, shade[run.system])
        for run in board.systems
        if (test := board.test(run.system)) is not None
    ]
    return draw_forest(rows, f"{board.metric}, difference to {board.reference}", width)


def draw_strata(board: Board, system: str, width: float = WIDTH) -> str:
    """One system against the reference, in every stratum."""
    rows = []
    for scope in board.best.scopes():
        test = board.test(system, scope)
        if test is not None:
            name = scope if scope != ALL else "all queries"
            rows.append(_make_row(f"{name} ({test.paired.n})", test, assign_colours(board)[system]))
    label = f"{board.metric}, {system} minus {board.reference}"
    return draw_forest(rows, label, width) if len(rows) > 1 else ""


def _make_row(name: str, test: ComparisonResult, colour: int) -> ForestRow:
    paired, p = test.paired, test.p_adjusted
    tip = f"{name}: {paired.difference:+.4f} [{paired.ci_low:+.4f}, {paired.ci_high:+.4f}], adjusted p {p:.3g}"
    note = f"{paired.difference:+.3f}  p {p:.2g}"
    return ForestRow(name, paired.difference, paired.ci_low, paired.ci_high, f"c{colour}", tip, note, hollow=p > 0.05)


def draw_budgets(board: Board, metric: str, at: Sequence[int], width: float = WIDTH) -> str:
    """A metric by token budget, one line for each system."""
    shade = assign_colours(board)
    curves = []
    for run in (*board.systems, *board.bounds):
        values = [board.mean(run, f"{metric}@{tokens}tok") for tokens in at]
        tips = [f"{run.system}: {value:.4f} at {tokens} tokens" for tokens, value in zip(at, values, strict=True)]
        kind = f"c{shade[run.system]}" if run.system in shade else "bound"
        curves.append(Curve(run.system, list(zip(map(float, at), values, strict=True)), kind, tips))
    most = max(1e-3, *(value for curve in curves for _, value in curve.points)) * 1.05
    labels = (f"{metric} by token budget", "tokens", f"{metric} within the budget")
    return draw_curves(curves, (0, max(at) * 1.02), (0.0, most), labels, {float(t): str(t) for t in at}, width)


def draw_wins(board: Board, system: str, width: float = WIDTH) -> str:
    """The difference of every query, best first."""
    base = next(run for run in board.systems if run.system == board.reference)
    other = next(run for run in board.systems if run.system == system)
    gap = other.scores[board.metric] - base.scores[board.metric]
    scored = np.flatnonzero(~np.isnan(gap))
    if other is base or not len(scored):
        return ""
    order = scored[np.argsort(-gap[scored], kind="stable")]
    across = PlotAxis(0, len(order), 46, width - 14)
    up = (
        PlotAxis(-1.0, 1.0, 250, 30)
        if (np.abs(gap[scored]) <= 1.0).all()
        else PlotAxis(*padded_range(gap[scored].tolist()), 250, 30)
    )
    up = PlotAxis(min(up.low, 0.0), max(up.high, 0.0), 250, 30)
    marks = y_axis(up, 46, width - 14, f"{board.metric}, {system} minus {board.reference}", "{:+.1f}")
    for place, query in enumerate(order.tolist()):
        value = float(gap[query])
        top, bottom = up.at(max(value, 0.0)), up.at(min(value, 0.0))
        kind = "win" if value > 0 else "loss" if value < 0 else "tie"
        step = across.at(place + 1) - across.at(place)
        tip = f"{other.queries[query]}: {value:+.4f}"
        marks.append(bar(across.at(place), top, max(step - 0.3, 0.4), max(bottom - top, 0.6), kind, tip))
    won, lost = int((gap[scored] > 0).sum()), int((gap[scored] < 0).sum())
    counts = f"{won} won, {len(scored) - won - lost} equal, {lost} lost"
    marks += [line(46, up.at(0.0), width - 14, up.at(0.0), "zero"), text(width - 14, 268, counts, "end", "tick")]
    return chart(276, f"wins and losses of {system}", marks, width)
