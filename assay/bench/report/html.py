"""Renders a report as one HTML file: no script, no network, light and dark themes, printable."""

from __future__ import annotations

from html import escape

from assay.bench.report import charts, sentences, tables
from assay.bench.report.boards import Board, Report
from assay.bench.report.tables import ReportTable

_PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a6d00", "#7f7f7f")
STYLE = """
:root { --ink: #1b1f24; --soft: #5d6670; --line: #d5dae0; --paper: #fff; --lead: #eef6ee; color-scheme: light dark; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ed; --soft: #9aa4ae; --line: #353c44; --paper: #14181c; --lead: #1d2b20; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 60rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 1.5rem; }
h3 { font-size: 1rem; margin-bottom: .3rem; } p.about, li, summary, .caption { color: var(--soft); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .87rem; }
th, td { padding: .25rem .6rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; } tr.lead { background: var(--lead); font-weight: 600; }
svg { width: 100%; height: auto; min-width: 36rem; max-width: 46rem; display: block; margin: .3rem 0 1.2rem; }
svg text { font: 12px system-ui, sans-serif; fill: var(--ink); }
svg .tick, svg .label { fill: var(--soft); font-size: 11px; }
svg .axis { stroke: var(--soft); } svg .grid { stroke: var(--line); stroke-width: .7; }
svg .zero { stroke: var(--ink); stroke-dasharray: 3 3; } svg .interval { stroke-width: 2; }
svg .curve { fill: none; stroke-width: 2; }
svg .win { fill: #009e73; } svg .loss { fill: #d55e00; } svg .tie { fill: var(--soft); }
svg .bound { fill: var(--soft); stroke: var(--soft); stroke-dasharray: 4 3; } svg circle.hollow { fill: var(--paper); }
code { font-size: .8rem; word-break: break-all; } nav a { margin-right: 1rem; }
""" + "\n".join(
    f"svg .c{i} {{ fill: {c}; stroke: {c}; }} svg .curve.c{i} {{ fill: none; }} "
    f"svg circle.c{i}.hollow {{ fill: var(--paper); stroke-width: 2; }}"
    for i, c in enumerate(_PALETTE)
)


def render_html(report: Report) -> str:
    boards = report.boards
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Assay: results</title><style>{STYLE}</style></head><body>",
        "<h1>Results</h1>",
        f'<p class="about">{_render_legend(boards[0])}</p>',
        "<nav>",
        *(f'<a href="#{_anchor(board)}">{escape(_name(board))}</a>' for board in boards),
        "</nav>",
    ]
    for label in sorted({board.dataset["label"] for board in boards}):
        for split in sorted({b.dataset["split"] for b in boards if b.dataset["label"] == label}):
            found = tables.dataset_table(report, (split,), (label,))
            if found is not None and len(found.head) > 3:
                parts += [
                    f"<h3>{escape(boards[0].metric)}, {escape(split)} splits, {label} judgements</h3>",
                    render_table(found),
                ]
    parts += [_render_board(board) for board in boards]
    if report.verdicts:
        parts += [
            "<h2>Verdicts</h2><ul>",
            *(f"<li>{escape(sentences.describe_receipt(r))}</li>" for r in report.verdicts),
            "</ul>",
        ]
    return "\n".join([*parts, "</body></html>\n"])


def _render_legend(board: Board) -> str:
    return escape(
        f"Differences are paired, query by query, against {board.reference}; intervals are bootstrapped, p values come "
        "from random sign flips and are adjusted (Holm over systems, Benjamini-Hochberg over strata). A hollow dot is "
        "a difference that chance may have made. Point at a mark to read it."
    )


def _render_board(board: Board) -> str:
    best = board.best.system
    rival = best if best != board.reference else next((r.system for r in board.systems if r.system != best), best)
    charts_by_title = [
        ("Quality against latency", charts.draw_quality_latency(board)),
        (f"Difference to {board.reference}", charts.draw_differences(board)),
        (f"Where {rival} gains and loses", charts.draw_strata(board, rival)),
        *(
            (f"{metric} by token budget", charts.draw_budgets(board, metric, at))
            for metric, at in board.budgets().items()
        ),
        (f"Query by query: {rival} minus {board.reference}", charts.draw_wins(board, rival)),
    ]
    parts = [
        f'<h2 id="{_anchor(board)}">{escape(_name(board))}</h2>',
        f'<p class="about">{escape(sentences.describe_dataset(board))}</p>',
        f"<p>{escape(sentences.describe_leader(board))}</p>",
        render_table(tables.system_table(board)),
        *(f'<h3>{escape(title)}</h3><div class="scroll">{svg}</div>' for title, svg in charts_by_title if svg),
    ]
    if len(board.best.scopes()) > 1:
        parts += [f"<h3>{escape(board.metric)} by stratum</h3>", render_table(tables.stratum_table(board))]
    leg_rows = tables.leg_table(board)
    if leg_rows is not None:
        parts += ["<h3>First places by leg, and those it alone had found</h3>", render_table(leg_rows)]
    caveats = sentences.list_caveats(board)
    if caveats:
        parts += [
            "<h3>To know before believing</h3><ul>",
            *(f"<li>{escape(caveat)}</li>" for caveat in caveats),
            "</ul>",
        ]
    parts += ["<details><summary>Receipts</summary><ul>"]
    parts += [f"<li>{escape(n)} <code>{r.digest}</code></li>" for n, r in sorted(board.receipts.items())]
    return "\n".join([*parts, "</ul></details>"])


def render_table(found: ReportTable) -> str:
    """Render a table that scrolls sideways where it is too wide."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in found.head)
    rows = []
    for place, row in enumerate(found.rows):
        kind = ' class="lead"' if place in found.strong else ""
        rows.append(f"<tr{kind}>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>")
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _name(board: Board) -> str:
    return f"{board.dataset['name']}, {board.dataset['split']}"


def _anchor(board: Board) -> str:
    return "".join(c if c.isalnum() else "-" for c in _name(board))
