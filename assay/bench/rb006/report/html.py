"""The report as one HTML file: no script, no network, light and dark, readable on a phone, printable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from assay.bench.rb006.report.advice import list_advice
from assay.bench.rb006.report.section import ReportSection
from assay.bench.rb006.report.sections import make_sections
from assay.bench.rb006.report.summary import describe_line, describe_run, describe_troubles, describe_verdict
from assay.bench.receipt import Receipt
from assay.page.document import render_document, render_figure
from assay.page.tables import render_table

_CLASSES = {"GO": "go", "NO-GO": "nogo", "KILL": "kill", "NOT MEASURED": "open"}
_MARKS = {"pass": " ✓", "fail": " ✗"}


def render_html(receipt: Receipt) -> str:
    """The whole page."""
    canonical = receipt.canonical
    title = "RB-006: hierarchy, token budgets, abstention"
    advice = list_advice(canonical)
    parts = [
        f"<h1>{title}</h1>",
        *(f'<p class="soft">{escape(line)}</p>' for line in describe_run(receipt)),
        *(f"<p><b>Warning:</b> {escape(line)}</p>" for line in describe_troubles(receipt)),
        _render_cards(canonical["verdicts"]),
    ]
    if advice:
        parts += [
            "<h2>What to fix first</h2>",
            '<ol class="first">',
            *(f"<li>{escape(one)}</li>" for one in advice),
            "</ol>",
        ]
    parts += [_render_section(section) for section in make_sections(canonical)]
    parts += [
        "<details><summary>Receipt</summary>",
        f"<p>Digest <code>{receipt.digest}</code>. Run it again: <code>assay bench rb006 replay</code>.</p></details>",
    ]
    return render_document(title, parts)


def _render_cards(verdicts: Sequence[Mapping[str, Any]]) -> str:
    cards = []
    for verdict in verdicts:
        lines = [_render_line(line["verdict"], line["says"], line) for line in verdict["go"]]
        if verdict["outcome"] == "KILL":
            held = (line for line in verdict["kill"] if line["verdict"] == "pass")
            lines += [_render_line("fail", f"kill line: {line['says']}", line) for line in held]
        cards.append(
            f'<section class="card {_CLASSES[verdict["outcome"]]}"><h2>{escape(verdict["name"])}: '
            f'{escape(verdict["title"])}</h2><div class="word">{verdict["outcome"]}</div>'
            f"<div>{escape(describe_verdict(verdict))}</div><ul>{''.join(lines)}</ul></section>"
        )
    return f'<div class="cards">{"".join(cards)}</div>'


def _render_line(kind: str, says: str, line: Mapping[str, Any]) -> str:
    mark = _MARKS.get(kind, "")  # colour alone would not say it to everybody
    return f'<li class="{kind}"><span>{escape(says)}</span><b>{escape(describe_line(line))}{mark}</b></li>'


def _render_section(section: ReportSection) -> str:
    parts = [f"<h2>{escape(section.title)}</h2>"]
    if section.about:
        parts.append(f'<p class="soft">{escape(section.about)}</p>')
    if section.chart is not None:
        parts.append(render_figure("", section.chart))
    if section.table is not None:
        parts.append(render_table(section.table, section.title))
    if section.lines:
        parts += ["<ul>", *(f"<li>{escape(line)}</li>" for line in section.lines), "</ul>"]
    return "\n".join(parts)
