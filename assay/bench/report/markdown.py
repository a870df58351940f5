"""Renders a report as Markdown: tables and sentences, for a pull request or a wiki."""

from __future__ import annotations

from assay.bench.report import sentences, tables
from assay.bench.report.boards import Report
from assay.page.tables import ReportTable


def render_markdown(report: Report) -> str:
    lines = ["# Results", ""]
    for label in sorted({board.dataset["label"] for board in report.boards}):
        for split in sorted({b.dataset["split"] for b in report.boards if b.dataset["label"] == label}):
            found = tables.dataset_table(report, (split,), (label,))
            if found is not None and len(found.head) > 3:
                lines += [
                    f"## All sets, {split} splits, {label} judgements: {report.boards[0].metric}",
                    "",
                    render_table(found),
                ]
    for board in report.boards:
        lines += [
            f"## {escape_markdown(board.dataset['name'])}, {escape_markdown(board.dataset['split'])}",
            "",
            f"{sentences.describe_dataset(board)}.",
            "",
        ]
        lines += [escape_markdown(sentences.describe_leader(board)), "", render_table(tables.system_table(board))]
        if len(board.best.scopes()) > 1:
            lines += [f"{board.metric} by stratum:", "", render_table(tables.stratum_table(board))]
        leg_rows = tables.leg_table(board)
        if leg_rows is not None:
            lines += ["Of the first places, how many each leg had found, and found alone:", "", render_table(leg_rows)]
        caveats = sentences.list_caveats(board)
        lines += [*(f"- {escape_markdown(caveat)}" for caveat in caveats), *([""] if caveats else [])]
        lines += ["<details><summary>Receipts</summary>", ""]
        lines += [f"- {escape_markdown(name)} `{receipt.digest}`" for name, receipt in sorted(board.receipts.items())]
        lines += ["", "</details>", ""]
    lines += [f"- {escape_markdown(sentences.describe_receipt(receipt))}" for receipt in report.verdicts]
    return "\n".join(lines).rstrip() + "\n"


def render_table(found: ReportTable) -> str:
    """Render a Markdown table, ending with an empty line."""
    head = f"| {' | '.join(map(escape_markdown, found.head))} |"
    rule = f"|---|{'---:|' * (len(found.head) - 1)}"
    rows = []
    for place, row in enumerate(found.rows):
        cells = [escape_markdown(cell) for cell in row]
        if place in found.strong:
            cells[0] = f"**{cells[0]}**"
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join([head, rule, *rows, ""])


def escape_markdown(text: str) -> str:
    """Escape text for Markdown: names come from untrusted files."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")
