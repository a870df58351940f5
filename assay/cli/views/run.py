"""Prints the results of a run as a table: best system first, floor and ceiling last, doubts below."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.cli.terminal import format_count, make_console, sanitize
from assay.config.preflight import barred

if TYPE_CHECKING:
    from rich.console import Console

    from assay.bench.lab import LabResult
    from assay.bench.receipt import Receipt
    from assay.bench.runner import RunPlan
    from assay.bench.types import Dataset

COLUMNS = 5
"""Metrics shown; the receipts hold them all."""


def show(dataset: Dataset, plan: RunPlan, outcome: LabResult, out: Path | None) -> None:
    from rich.table import Table

    from assay.bench.messages import failures, why
    from assay.bench.systems import BOUNDS

    screen = make_console()
    half = f" (a half of {sanitize(dataset.half_of)})" if dataset.half_of else ""
    header = f"{sanitize(dataset.name)}/{sanitize(dataset.split)}{half} · "
    header += f"{format_count(dataset.document_count, 'document')} · "
    header += f"{format_count(len(dataset.scored), 'query')} · {dataset.judgements_text}"
    click.echo(click.style(header, bold=True))
    for note in dataset.notes:
        click.echo(click.style(f"  {sanitize(note)}", dim=True))
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("system")
    metrics = plan.metrics[:COLUMNS]
    abstention_columns = ("silent", "wrongly_silent", "separation") if plan.abstention and dataset.abstain else ()
    for name in (*metrics, *(name.replace("_", " ") for name in abstention_columns), "p50 ms", "p95 ms"):
        table.add_column(name, justify="right")
    first_metric = metrics[0]
    pipelines = [r for name, r in outcome.receipts.items() if name not in BOUNDS]
    bounds = [outcome.receipts[name] for name in BOUNDS if name in outcome.receipts]
    best = max((_mean(r, first_metric) for r in pipelines), default=0.0)
    for receipt in [*sorted(pipelines, key=lambda r: (-_mean(r, first_metric), _name(r))), *bounds]:
        leads = receipt in pipelines and _mean(receipt, first_metric) == best
        style = "green" if leads else "dim" if receipt in bounds else ""
        cells = [*(_cell(receipt, m) for m in metrics), *_silence(receipt, abstention_columns), *_times(receipt)]
        table.add_row(sanitize(_name(receipt)), *cells, style=style)
    screen.print(table)
    for receipt in pipelines:
        if receipt.canonical["status"] == "not_measured":
            click.secho(f"not measured: {_name(receipt)}: {sanitize(why(receipt))}", fg="yellow")
        failed = failures(receipt)
        if failed:
            first, error = next(iter(failed.items()))
            queries = format_count(len(failed), "query")
            click.secho(f"{queries} failed in {_name(receipt)}, {sanitize(first)}: {sanitize(error)}", fg="yellow")
    _legs(pipelines, screen)
    _doubts(outcome)
    if outcome.reused:
        click.echo(click.style(f"taken from {sanitize(str(out))}, unchanged: {', '.join(outcome.reused)}", dim=True))
    if out:
        click.echo(click.style(f"{format_count(len(outcome.receipts), 'receipt')} in {sanitize(str(out))}", dim=True))


def _legs(receipts: Sequence[Receipt], screen: Console) -> None:
    """How many of the top results each leg of a system found, and how many no other leg found; not measured where the
    weights keep what it finds alone out of the answer."""
    for receipt in receipts:
        parts = []
        shut = barred(receipt.canonical["preflight"])
        for leg, counts in receipt.measured.get("legs", {}).items():
            alone = "alone not measured" if leg in shut and not counts["alone"] else f"{counts['alone']:,} alone"
            parts.append(f"{sanitize(leg)} {counts['chosen']:,} ({alone})")
        if parts:
            screen.print(
                f"first places of {sanitize(_name(receipt))}, found by: {', '.join(parts)}", style="dim", markup=False
            )


def _doubts(outcome: LabResult) -> None:
    """Findings that every receipt of the run carries are said once."""
    from assay.bench.messages import render_message

    first = next(iter(outcome.receipts.values())).canonical["preflight"] if outcome.receipts else []
    common = [f for f in first if all(f in r.canonical["preflight"] for r in outcome.receipts.values())]
    for finding in common:
        _say(finding["level"], finding["where"], render_message(finding))
    for name, receipt in outcome.receipts.items():
        for finding in receipt.canonical["preflight"]:
            if finding not in common:
                _say(finding["level"], f"{name}: {finding['where']}", render_message(finding))
        for doubt in outcome.doubts.get(name, ()):
            _say(doubt.level, f"{name}: {doubt.where}", doubt.text)


def _say(level: str, where: str, text: str) -> None:
    colour = {"error": "red", "warning": "yellow", "info": "cyan"}[level]
    click.echo(f"{click.style(level, fg=colour, bold=level == 'error')} {sanitize(where)}: {sanitize(text)}")


def _name(receipt: Receipt) -> str:
    name: str = receipt.canonical["system"]["name"]
    return name


def _mean(receipt: Receipt, metric: str) -> float:
    value = receipt.canonical["aggregates"]["all"].get(metric)
    return -1.0 if value is None or receipt.canonical["status"] != "measured" else float(value)


def _cell(receipt: Receipt, metric: str) -> str:
    value = receipt.canonical["aggregates"]["all"].get(metric)
    return "–" if value is None or receipt.canonical["status"] != "measured" else f"{value:.4f}"


def _silence(receipt: Receipt, columns: Sequence[str]) -> list[str]:
    """What the receipt says of questions without an answer; the floor and the ceiling say nothing."""
    abstention = receipt.canonical.get("abstention", {})
    return [f"{abstention[name]:.3f}" if name in abstention else "–" for name in columns]


def _times(receipt: Receipt) -> tuple[str, str]:
    total: dict[str, Any] = receipt.measured.get("latency_ms", {}).get("total", {})
    return (f"{total['p50']:.2f}", f"{total['p95']:.2f}") if total else ("", "")
