"""What a run found, as a table: best system first, floor and ceiling last, doubts below."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.cli.terminal import console, count, safe
from assay.config.preflight import barred

if TYPE_CHECKING:
    from rich.console import Console

    from assay.bench.lab import Outcome
    from assay.bench.receipt import Receipt
    from assay.bench.runner import RunPlan
    from assay.bench.types import Dataset

COLUMNS = 5
"""Metrics shown; the receipts hold them all."""


def show(dataset: Dataset, plan: RunPlan, outcome: Outcome, out: Path | None) -> None:
    from rich.table import Table

    from assay.bench.systems import BOUNDS

    screen = console()
    said = f"{safe(dataset.name)}/{safe(dataset.split)} · {count(dataset.document_count, 'document')} · "
    said += f"{count(len(dataset.scored), 'query')} · {dataset.label} judgements"
    click.echo(click.style(said, bold=True))
    for note in dataset.notes:
        click.echo(click.style(f"  {safe(note)}", dim=True))
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("system")
    shown = plan.metrics[:COLUMNS]
    apart = ("silent", "wrongly_silent", "separation") if plan.abstention and dataset.abstain else ()
    for name in (*shown, *(name.replace("_", " ") for name in apart), "p50 ms", "p95 ms"):
        table.add_column(name, justify="right")
    decides = shown[0]
    pipelines = [r for name, r in outcome.receipts.items() if name not in BOUNDS]
    bounds = [outcome.receipts[name] for name in BOUNDS if name in outcome.receipts]
    best = max((_mean(r, decides) for r in pipelines), default=0.0)
    for receipt in [*sorted(pipelines, key=lambda r: (-_mean(r, decides), _name(r))), *bounds]:
        leads = receipt in pipelines and _mean(receipt, decides) == best
        style = "green" if leads else "dim" if receipt in bounds else ""
        cells = [*(_cell(receipt, m) for m in shown), *_silence(receipt, apart), *_times(receipt)]
        table.add_row(safe(_name(receipt)), *cells, style=style)
    screen.print(table)
    for receipt in pipelines:
        if receipt.canonical["status"] == "not_measured":
            click.secho(f"not measured: {_name(receipt)}: {safe(receipt.canonical['why'])}", fg="yellow")
        if receipt.canonical["failed"]:
            first, why = next(iter(receipt.canonical["failed"].items()))
            failed = count(len(receipt.canonical["failed"]), "query")
            click.secho(f"{failed} failed in {_name(receipt)}, {safe(first)}: {safe(why)}", fg="yellow")
    _legs(pipelines, screen)
    _doubts(outcome)
    if outcome.reused:
        click.echo(click.style(f"taken from {safe(str(out))}, unchanged: {', '.join(outcome.reused)}", dim=True))
    if out:
        click.echo(click.style(f"{count(len(outcome.receipts), 'receipt')} in {safe(str(out))}", dim=True))


def _legs(receipts: Sequence[Receipt], screen: Console) -> None:
    """Of the first places, how many each leg of a system had found, and how many no other leg had; where the weights
    let it bring none alone, that was not measured."""
    for receipt in receipts:
        said = []
        shut = barred(receipt.canonical["preflight"])
        for leg, found in receipt.measured.get("legs", {}).items():
            alone = "alone not measured" if leg in shut and not found["alone"] else f"{found['alone']:,} alone"
            said.append(f"{safe(leg)} {found['chosen']:,} ({alone})")
        if said:
            screen.print(
                f"first places of {safe(_name(receipt))}, found by: {', '.join(said)}", style="dim", markup=False
            )


def _doubts(outcome: Outcome) -> None:
    """Findings that every receipt of the run carries are said once."""
    first = next(iter(outcome.receipts.values())).canonical["preflight"] if outcome.receipts else []
    common = [f for f in first if all(f in r.canonical["preflight"] for r in outcome.receipts.values())]
    for finding in common:
        _say(finding["level"], finding["where"], finding["text"])
    for name, receipt in outcome.receipts.items():
        for finding in receipt.canonical["preflight"]:
            if finding not in common:
                _say(finding["level"], f"{name}: {finding['where']}", finding["text"])
        for doubt in outcome.doubts.get(name, ()):
            _say(doubt.level, f"{name}: {doubt.where}", doubt.text)


def _say(level: str, where: str, text: str) -> None:
    colour = {"error": "red", "warning": "yellow", "info": "cyan"}[level]
    click.echo(f"{click.style(level, fg=colour, bold=level == 'error')} {safe(where)}: {safe(text)}")


def _name(receipt: Receipt) -> str:
    name: str = receipt.canonical["system"]["name"]
    return name


def _mean(receipt: Receipt, metric: str) -> float:
    found = receipt.canonical["aggregates"]["all"].get(metric)
    return -1.0 if found is None or receipt.canonical["status"] != "measured" else float(found)


def _cell(receipt: Receipt, metric: str) -> str:
    found = receipt.canonical["aggregates"]["all"].get(metric)
    return "–" if found is None or receipt.canonical["status"] != "measured" else f"{found:.4f}"


def _silence(receipt: Receipt, columns: Sequence[str]) -> list[str]:
    """What the receipt says of questions without an answer; the floor and the ceiling say nothing."""
    said = receipt.canonical.get("abstention", {})
    return [f"{said[name]:.3f}" if name in said else "–" for name in columns]


def _times(receipt: Receipt) -> tuple[str, str]:
    total: dict[str, Any] = receipt.measured.get("latency_ms", {}).get("total", {})
    return (f"{total['p50']:.2f}", f"{total['p95']:.2f}") if total else ("", "")
