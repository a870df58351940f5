"""Builds the tables of a report as plain rows, for Markdown and HTML."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.bench.report.boards import Board, Report
from assay.bench.run_columns import RunColumns
from assay.bench.systems import ORACLE
from assay.config.preflight import barred
from assay.page.tables import ReportTable

MAX_METRICS = 6
"""The number of metrics of a board's table; receipts have all of them."""
WORST = 20
"""The number of queries of a board's table of queries."""


def system_table(board: Board) -> ReportTable:
    """Every system: its metrics, its difference to the reference, its latency."""
    others = [m for m in board.metrics() if not m.endswith("tok")][1:MAX_METRICS]
    others += [m for m in board.metrics() if m.endswith("@400tok")]
    head = ("system", board.metric, f"Δ {board.reference}", "95 %", "p (Holm)", "W/T/L", "p50 ms", "p95 ms", *others)
    rows = [
        (
            run.system,
            _format_score(board.mean(run)),
            *(_format_test(board, run.system) if run in board.systems else [""] * 4),
            *_format_times(run),
            *(_format_score(board.mean(run, metric)) for metric in others),
        )
        for run in (*board.systems, *board.bounds)
    ]
    return ReportTable(head, tuple(rows), frozenset({0}))


def stratum_table(board: Board) -> ReportTable:
    """The deciding metric in every stratum, one column for each system."""
    scopes = board.best.scopes()
    head = ("stratum", "queries", *(run.system for run in board.systems))
    rows = tuple(
        (scope, str(len(places)), *(_format_score(board.mean(run, scope=scope)) for run in board.systems))
        for scope, places in scopes.items()
    )
    return ReportTable(head, rows)


def query_table(board: Board, most: int = WORST) -> ReportTable:
    """The queries on which the best system is worst, one column for each system and for the ideal order (`oracle`);
    with their texts where the receipts hold them."""
    runs = [*board.systems, *(run for run in board.bounds if run.system == ORACLE)]
    queries, texts = board.best.queries, board.texts
    own = board.best.scores[board.metric]
    order = [place for place in np.argsort(own, kind="stable").tolist() if not np.isnan(own[place])][:most]
    head = ("query", *(("text",) if texts else ()), *("ideal" if run.system == ORACLE else run.system for run in runs))
    rows = tuple(
        (
            queries[place],
            *((texts.get(queries[place], ""),) if texts else ()),
            *(_format_score(float(run.scores[board.metric][place])) for run in runs),
        )
        for place in order
    )
    return ReportTable(head, rows, texts=frozenset({1}) if texts else frozenset())


def leg_table(board: Board) -> ReportTable | None:
    """The contribution of each leg to the answers of systems with several legs: results that it found, and results that
    it alone found ("not measured" if it could not run). None if no receipt has these counts."""
    rows = []
    for run in board.systems:
        receipt = board.receipts[run.system]
        shut = barred(receipt.canonical["preflight"])
        for leg, found in receipt.measured.get("legs", {}).items():
            alone = "not measured" if leg in shut and not found["alone"] else f"{found['alone']:,}"
            rows.append((run.system, str(leg), f"{found['chosen']:,}", alone))
    return ReportTable(("system", "leg", "found", "found alone"), tuple(rows)) if rows else None


def dataset_table(report: Report, splits: Sequence[str], labels: Sequence[str]) -> ReportTable | None:
    """Systems × datasets in the boards' metric, and their mean over the sets that all of them ran on.

    Human, derived and synthetic judgements never share a table.
    """
    boards = [b for b in report.boards if b.dataset["split"] in splits and b.dataset["label"] in labels]
    if not boards:
        return None
    names = sorted({run.system for board in boards for run in board.systems})
    cells: dict[str, list[float | None]] = {}
    for name in names:
        runs = [next((run for run in board.systems if run.system == name), None) for board in boards]
        cells[name] = [board.mean(run) if run else None for board, run in zip(boards, runs, strict=True)]
    means = {n: sum(v for v in row if v is not None) / len(row) for n, row in cells.items() if None not in row}
    order = sorted(names, key=lambda n: (-means.get(n, -1.0), n))
    head = ("system", *(f"{b.dataset['name']} ({b.dataset['split']})" for b in boards), "mean")
    rows = [
        (n, *(_format_score(v) if v is not None else "–" for v in cells[n]), _format_score(means.get(n))) for n in order
    ]
    return ReportTable(head, tuple(rows), frozenset({0}) if means else frozenset())


def _format_test(board: Board, system: str) -> tuple[str, str, str, str]:
    test = board.test(system)
    if test is None:
        return ("reference", "", "", "")
    p = test.paired
    return (
        f"{p.difference:+.4f}",
        f"{p.ci_low:+.3f} … {p.ci_high:+.3f}",
        f"{test.p_adjusted:.3g}",
        f"{p.wins}/{p.ties}/{p.losses}",
    )


def _format_times(run: RunColumns) -> tuple[str, str]:
    total = run.latency_ms.get("total", {})
    return tuple(f"{total[p]:.2f}" if p in total else "" for p in ("p50", "p95"))  # type: ignore[return-value]


def _format_score(value: float | None) -> str:
    return "–" if value is None or value != value else f"{value:.4f}"
