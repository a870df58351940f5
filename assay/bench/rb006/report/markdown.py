"""The report as Markdown: verdicts, advice and tables; charts are in the HTML form."""

from __future__ import annotations

from assay.bench.rb006.report.advice import list_advice
from assay.bench.rb006.report.sections import make_sections
from assay.bench.rb006.report.summary import describe_line, describe_run, describe_troubles, describe_verdict
from assay.bench.receipt import Receipt
from assay.bench.report.markdown import escape_markdown, render_table
from assay.page.tables import ReportTable


def render_markdown(receipt: Receipt) -> str:
    """The whole page."""
    canonical = receipt.canonical
    lines = ["# RB-006: hierarchy, token budgets, abstention", ""]
    for sentence in describe_run(receipt):
        lines += [escape_markdown(sentence), ""]
    troubles = describe_troubles(receipt)
    if troubles:
        lines += [*(f"- **Warning:** {escape_markdown(one)}" for one in troubles), ""]
    rows = [
        (f"{verdict['name']}: {verdict['title']}", f"**{verdict['outcome']}**", describe_verdict(verdict))
        for verdict in canonical["verdicts"]
    ]
    lines += ["| hypothesis | verdict | why |", "|---|---|---|", *(f"| {' | '.join(row)} |" for row in rows), ""]
    judged = [
        (verdict["name"], line["says"], describe_line(line), line["verdict"])
        for verdict in canonical["verdicts"]
        for line in verdict["go"]
    ]
    lines += [render_table(ReportTable(("hypothesis", "go line", "observed", "verdict"), tuple(judged)))]
    advice = list_advice(canonical)
    if advice:
        lines += ["## What to fix first", "", *(f"{n}. {escape_markdown(one)}" for n, one in enumerate(advice, 1)), ""]
    for section in make_sections(canonical):
        if not (section.table or section.lines or section.about):
            continue
        lines += [f"## {escape_markdown(section.title)}", ""]
        if section.about:
            lines += [escape_markdown(section.about), ""]
        if section.table is not None:
            lines.append(render_table(section.table))
        lines += [*(f"- {escape_markdown(one)}" for one in section.lines), *([""] if section.lines else [])]
    lines += [f"Receipt `{receipt.digest}`."]
    return "\n".join(lines).rstrip() + "\n"
