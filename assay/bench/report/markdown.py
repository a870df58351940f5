"""A report as Markdown: tables and sentences, for a pull request or a wiki."""

from __future__ import annotations

from assay.bench.report import tables, words
from assay.bench.report.gather import Report
from assay.bench.report.tables import Table


def markdown(report: Report) -> str:
    lines = ["# Results", ""]
    for label in sorted({board.dataset["label"] for board in report.boards}):
        for split in sorted({b.dataset["split"] for b in report.boards if b.dataset["label"] == label}):
            found = tables.matrix(report, (split,), label)
            if found is not None and len(found.head) > 3:
                lines += [
                    f"## All sets, {split} splits, {label} judgements: {report.boards[0].metric}",
                    "",
                    table(found),
                ]
    for board in report.boards:
        lines += [
            f"## {_cell(board.dataset['name'])}, {_cell(board.dataset['split'])}",
            "",
            f"{words.about(board)}.",
            "",
        ]
        lines += [_cell(words.verdict(board)), "", table(tables.systems(board))]
        if len(board.best.scopes()) > 1:
            lines += [f"{board.metric} by stratum:", "", table(tables.strata(board))]
        brought = tables.legs(board)
        if brought is not None:
            lines += ["Of the first places, how many each leg had found, and found alone:", "", table(brought)]
        said = words.doubts(board)
        lines += [*(f"- {_cell(doubt)}" for doubt in said), *([""] if said else [])]
        lines += ["<details><summary>Receipts</summary>", ""]
        lines += [f"- {_cell(name)} `{receipt.digest}`" for name, receipt in sorted(board.receipts.items())]
        lines += ["", "</details>", ""]
    lines += [f"- {_cell(words.outcome(receipt))}" for receipt in report.verdicts]
    return "\n".join(lines).rstrip() + "\n"


def table(found: Table) -> str:
    """A table in Markdown, ending with an empty line."""
    head = f"| {' | '.join(map(_cell, found.head))} |"
    rule = f"|---|{'---:|' * (len(found.head) - 1)}"
    rows = []
    for place, row in enumerate(found.rows):
        cells = [_cell(cell) for cell in row]
        if place in found.strong:
            cells[0] = f"**{cells[0]}**"
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join([head, rule, *rows, ""])


def _cell(said: str) -> str:
    """Foreign text as text: names come from files that anybody may have written."""
    return said.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")
