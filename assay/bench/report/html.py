"""Renders a report as one HTML file: no script, no network, light and dark themes, printable."""

from __future__ import annotations

from functools import partial
from html import escape

from assay.bench.report import charts, sentences, tables
from assay.bench.report.boards import Board, Report
from assay.page.document import render_document, render_figure
from assay.page.tables import render_table


def render_html(report: Report) -> str:
    boards = report.boards
    parts = [
        "<h1>Results</h1>",
        f'<p class="soft">{_render_legend(boards[0])}</p>',
        '<nav class="jump" aria-label="Datasets">',
        *(f'<a href="#{_anchor(board)}">{escape(_name(board))}</a>' for board in boards),
        "</nav>",
    ]
    for label in sorted({board.dataset["label"] for board in boards}):
        for split in sorted({b.dataset["split"] for b in boards if b.dataset["label"] == label}):
            found = tables.dataset_table(report, (split,), (label,))
            if found is not None and len(found.head) > 3:
                parts += [
                    f"<h3>{escape(boards[0].metric)}, {escape(split)} splits, {label} judgements</h3>",
                    render_table(found, f"All sets, {split}, {label}"),
                ]
    parts += [_render_board(board) for board in boards]
    if report.verdicts:
        parts += [
            "<h2>Verdicts</h2><ul>",
            *(f"<li>{escape(sentences.describe_receipt(r))}</li>" for r in report.verdicts),
            "</ul>",
        ]
    return render_document("Assay: results", parts)


def _render_legend(board: Board) -> str:
    return escape(
        f"Differences are paired, query by query, against {board.reference}; intervals are bootstrapped, p values come "
        "from random sign flips and are adjusted (Holm over systems, Benjamini-Hochberg over strata). A hollow dot is "
        "a difference that chance may have made. Point at a mark to read it."
    )


def _render_board(board: Board) -> str:
    best = board.best.system
    rival = best if best != board.reference else next((r.system for r in board.systems if r.system != best), best)
    figures = [
        render_figure("Quality against latency", partial(charts.draw_quality_latency, board)),
        render_figure(f"Difference to {board.reference}", partial(charts.draw_differences, board)),
        render_figure(f"Where {rival} gains and loses", partial(charts.draw_strata, board, rival)),
        *(
            render_figure(f"{metric} by token budget", partial(charts.draw_budgets, board, metric, at))
            for metric, at in board.budgets().items()
        ),
        render_figure(f"Query by query: {rival} minus {board.reference}", partial(charts.draw_wins, board, rival)),
    ]
    parts = [
        f'<h2 id="{_anchor(board)}">{escape(_name(board))}</h2>',
        f'<p class="soft">{escape(sentences.describe_dataset(board))}</p>',
        f"<p>{escape(sentences.describe_leader(board))}</p>",
        render_table(tables.system_table(board), f"Systems on {_name(board)}"),
        *filter(None, figures),
        f"<h3>The queries on which {escape(best)} is worst</h3>",
        render_table(tables.query_table(board), f"Worst queries of {_name(board)}"),
    ]
    if len(board.best.scopes()) > 1:
        strata = render_table(tables.stratum_table(board), f"Strata of {_name(board)}")
        parts += [f"<h3>{escape(board.metric)} by stratum</h3>", strata]
    leg_rows = tables.leg_table(board)
    if leg_rows is not None:
        legs = render_table(leg_rows, f"Legs on {_name(board)}")
        parts += ["<h3>First places by leg, and those it alone had found</h3>", legs]
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


def _name(board: Board) -> str:
    return f"{board.dataset['name']}, {board.dataset['split']}"


def _anchor(board: Board) -> str:
    return "".join(c if c.isalnum() else "-" for c in _name(board))
