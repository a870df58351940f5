"""Writes the lab's tables in documents from receipts/lab."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

from assay.bench.receipt import read
from assay.bench.report import Report, build_report, tables
from assay.bench.report.markdown import render_table
from assay.page.tables import ReportTable

RECEIPTS = Path(__file__).resolve().parents[2] / "receipts" / "lab"
SHORT = ("bm25", "dense", "hybrid", "hybrid+rerank", "convex-0.5", "tm2c2-0.7", "default", "learned")
"""What the README shows; the benchmarks' page shows everything."""


@cache
def report() -> Report:
    return build_report([read(path) for path in sorted(RECEIPTS.glob("*.json"))])


def matrix(label: str, split: str, names: tuple[str, ...] = ()) -> str:
    """nDCG@10 of systems × sets."""
    found = tables.dataset_table(report(), (split,), (label, "unstated") if label == "human" else (label,))
    if found is None:
        return "No receipts.\n"
    rows = tuple(row for row in found.rows if not names or row[0] in names)
    lead = max(range(len(rows)), key=lambda place: rows[place][-1])
    return render_table(_brief(replace(found, rows=rows, strong=frozenset({lead}))))


def _brief(found: ReportTable) -> ReportTable:
    """Three decimals and bare names, for reading."""
    head = tuple(name.partition(" (")[0] for name in found.head)
    return replace(found, head=head, rows=tuple((r[0], *(_three(cell) for cell in r[1:])) for r in found.rows))


def _three(cell: str) -> str:
    return cell if cell == "–" else f"{float(cell):.3f}"


def against_the_legs() -> str:
    """The default on the confirming splits, against the better leg and the best plain recipe of every set.

    Both are picked on the dev split, so that the test split is not asked twice.
    """
    boards = {(board.dataset["name"], board.dataset["split"]): board for board in report().boards}
    rows = []
    for (name, split), board in boards.items():
        if split != "test":
            continue
        dev = {run.system: boards[name, "dev"].mean(run) for run in boards[name, "dev"].systems}
        plain = [n for n in dev if n not in ("default", "learned", "bm25", "dense") and "rerank" not in n]
        cells = [name, f"{next(board.mean(run) for run in board.systems if run.system == 'default'):.4f}"]
        for others in (["bm25", "dense"], plain):
            other = max(others, key=dev.__getitem__)
            test = (
                build_report([board.receipts["default"], board.receipts[other]], board.metric, other)
                .boards[0]
                .test("default")
            )
            assert test is not None
            p = test.paired
            cells += [other, f"{p.difference:+.4f}", f"{p.ci_low:+.3f} … {p.ci_high:+.3f}", f"{p.p:.3f}"]
        rows.append(tuple(cells))
    head = ("set", "default", "better leg", "Δ", "95 %", "p", "best plain recipe", "Δ ", "95 % ", "p ")
    return render_table(ReportTable(head, tuple(rows)))


WRITERS = {
    "lab_readme": lambda: matrix("human", "test", SHORT),
    "lab_public_test": lambda: matrix("human", "test"),
    "lab_public_dev": lambda: matrix("human", "dev"),
    "lab_auto_test": lambda: matrix("auto", "test"),
    "lab_auto_dev": lambda: matrix("auto", "dev"),
    "lab_default": against_the_legs,
}
