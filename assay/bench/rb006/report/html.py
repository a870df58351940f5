"""The report as one HTML file: no script, no network, light and dark, readable on a phone, printable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from assay.bench.rb006.report.advice import list_advice
from assay.bench.rb006.report.section import ReportSection
from assay.bench.rb006.report.sections import make_sections
from assay.bench.rb006.report.summary import describe_line, describe_run, describe_verdict
from assay.bench.receipt import Receipt
from assay.bench.report.html import STYLE, render_table

_CLASSES = {"GO": "go", "NO-GO": "nogo", "KILL": "kill", "NOT MEASURED": "open"}
_OWN_STYLE = """
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(16rem, 1fr)); gap: .8rem; margin: 1.2rem 0; }
.card { border: 1px solid var(--line); border-top: 5px solid var(--soft); border-radius: 6px; padding: .7rem .9rem; }
.card.go { border-top-color: #009e73; } .card.nogo { border-top-color: #e69f00; }
.card.kill { border-top-color: #d55e00; }
.card h3 { margin: 0; font-size: .95rem; font-weight: 600; } .word { font-size: 1.5rem; font-weight: 700; }
.go .word { color: #009e73; } .nogo .word { color: #b87f00; } .kill .word { color: #d55e00; }
.card ul { margin: .4rem 0 0; padding: 0; list-style: none; font-size: .84rem; }
.card li { display: flex; justify-content: space-between; gap: .6rem; border-top: 1px solid var(--line);
  padding: .2rem 0; }
.card li b { white-space: nowrap; color: var(--ink); font-variant-numeric: tabular-nums; font-weight: 600; }
.card li.fail b { color: #d55e00; } .card li.pass b { color: #009e73; }
.first li { color: var(--ink); margin-bottom: .25rem; }
svg text.cell { font-size: 11px; fill: #fff; font-weight: 600; } svg text.name { font-size: 12px; stroke: none; }
svg .interval.win { stroke: #009e73; } svg .interval.loss { stroke: #d55e00; }
svg .interval.tie { stroke: var(--soft); }
svg .heat0 { fill: var(--line); } svg .heat1 { fill: #f0b27a; } svg .heat2 { fill: #e67e22; }
svg .heat3 { fill: #ca5a12; } svg .heat4 { fill: #8e3206; }
@media (prefers-color-scheme: dark) { .nogo .word { color: #e69f00; } }
@media (max-width: 480px) { body { margin: 1rem auto; } h1 { font-size: 1.3rem; } h2 { margin-top: 2rem; }
  .chart { overflow-x: auto; } .chart svg { min-width: 34rem; } }
"""


def render_html(receipt: Receipt) -> str:
    """The whole page."""
    canonical = receipt.canonical
    title = "RB-006: hierarchy, token budgets, abstention"
    advice = list_advice(canonical)
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{title}</title><style>{STYLE}{_OWN_STYLE}</style></head><body>",
        f"<h1>{title}</h1>",
        *(f'<p class="about">{escape(line)}</p>' for line in describe_run(receipt)),
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
        "</body></html>\n",
    ]
    return "\n".join(parts)


def _render_cards(verdicts: Sequence[Mapping[str, Any]]) -> str:
    cards = []
    for verdict in verdicts:
        lines = [_render_line(line["verdict"], line["says"], line) for line in verdict["go"]]
        if verdict["outcome"] == "KILL":
            held = (line for line in verdict["kill"] if line["verdict"] == "pass")
            lines += [_render_line("fail", f"kill line: {line['says']}", line) for line in held]
        cards.append(
            f'<section class="card {_CLASSES[verdict["outcome"]]}"><h3>{escape(verdict["name"])}: '
            f'{escape(verdict["title"])}</h3><div class="word">{verdict["outcome"]}</div>'
            f"<div>{escape(describe_verdict(verdict))}</div><ul>{''.join(lines)}</ul></section>"
        )
    return f'<div class="cards">{"".join(cards)}</div>'


def _render_line(kind: str, says: str, line: Mapping[str, Any]) -> str:
    return f'<li class="{kind}"><span>{escape(says)}</span><b>{escape(describe_line(line))}</b></li>'


def _render_section(section: ReportSection) -> str:
    parts = [f"<h2>{escape(section.title)}</h2>"]
    if section.about:
        parts.append(f'<p class="about">{escape(section.about)}</p>')
    if section.chart:
        parts.append(f'<div class="chart">{section.chart}</div>')
    if section.table is not None:
        parts.append(render_table(section.table))
    if section.lines:
        parts += ["<ul>", *(f"<li>{escape(line)}</li>" for line in section.lines), "</ul>"]
    return "\n".join(parts)
