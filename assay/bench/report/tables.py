"""The tables of a report as plain rows; Markdown and HTML only dress them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.bench.report.gather import Board, Report
from assay.bench.run_columns import RunColumns
from assay.config.preflight import barred

COLUMNS = 6
"""Metrics of a board's table; receipts hold them all."""


@dataclass(frozen=True)
class Table:
    """Columns and rows; the first column is a name, the others stand right. `strong` rows lead."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    strong: frozenset[int] = frozenset()


def systems(board: Board) -> Table:
    """Every system: its metrics, its difference to the reference, what it takes."""
    others = [m for m in board.metrics() if not m.endswith("tok")][1:COLUMNS]
    others += [m for m in board.metrics() if m.endswith("@400tok")]
    head = ("system", board.metric, f"Δ {board.reference}", "95 %", "p (Holm)", "W/T/L", "p50 ms", "p95 ms", *others)
    rows = [
        (
            run.system,
            _number(board.mean(run)),
            *(_against(board, run.system) if run in board.systems else [""] * 4),
            *_times(run),
            *(_number(board.mean(run, metric)) for metric in others),
        )
        for run in (*board.systems, *board.bounds)
    ]
    return Table(head, tuple(rows), frozenset({0}))


def strata(board: Board) -> Table:
    """The deciding metric in every stratum, one column for each system."""
    scopes = board.best.scopes()
    head = ("stratum", "queries", *(run.system for run in board.systems))
    rows = tuple(
        (scope, str(len(places)), *(_number(board.mean(run, scope=scope)) for run in board.systems))
        for scope, places in scopes.items()
    )
    return Table(head, rows)


def legs(board: Board) -> Table | None:
    """What each leg brought to the answers of every system with several: first places it had a part in, and those
    that nobody else had found, unless it could have found none. None when no receipt says so."""
    rows = []
    for run in board.systems:
        receipt = board.receipts[run.system]
        shut = barred(receipt.canonical["preflight"])
        for leg, found in receipt.measured.get("legs", {}).items():
            alone = "not measured" if leg in shut and not found["alone"] else f"{found['alone']:,}"
            rows.append((run.system, str(leg), f"{found['chosen']:,}", alone))
    return Table(("system", "leg", "found", "found alone"), tuple(rows)) if rows else None


def matrix(report: Report, splits: Sequence[str], label: str) -> Table | None:
    """Systems × datasets in the boards' metric, and their mean over the sets that all of them ran on.

    Sets judged by people, by links and by generators never share a table.
    """
    boards = [b for b in report.boards if b.dataset["split"] in splits and b.dataset["label"] == label]
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
    rows = [(n, *(_number(v) if v is not None else "–" for v in cells[n]), _number(means.get(n))) for n in order]
    return Table(head, tuple(rows), frozenset({0}) if means else frozenset())


def _against(board: Board, system: str) -> tuple[str, str, str, str]:
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


def _times(run: RunColumns) -> tuple[str, str]:
    total = run.latency_ms.get("total", {})
    return tuple(f"{total[p]:.2f}" if p in total else "" for p in ("p50", "p95"))  # type: ignore[return-value]


def _number(value: float | None) -> str:
    return "–" if value is None or value != value else f"{value:.4f}"
