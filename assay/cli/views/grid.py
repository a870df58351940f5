"""Prints a sweep, the best cells and the gates on test, and writes its files."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.cli.terminal import format_count, make_console, sanitize

if TYPE_CHECKING:
    from assay.bench.grid import SweepResult

MOST = 12
"""Cells shown; the files have them all."""
_COLOURS = {"pass": "green", "fail": "red", "not_measured": "yellow"}


def write_files(result: SweepResult, folder: Path) -> None:
    """Receipt, table, picture, and the winner as a pipeline to use."""
    from assay.bench.grid.chart import draw_sweep
    from assay.bench.grid.summary import render_sweep
    from assay.bench.receipt import write
    from assay.cli.toml import resolved_toml

    write(result.receipt, folder / "grid.json")
    _write(folder / "grid.md", render_sweep(result.receipt))
    _write(folder / "grid.svg", draw_sweep(result.receipt))
    if result.verdict == "pass" and result.picked is not None and result.picked.system.pipeline is not None:
        _write(folder / "winner.toml", resolved_toml(result.picked.system.pipeline))
    else:
        (folder / "winner.toml").unlink(missing_ok=True)


def show(result: SweepResult, folder: Path) -> None:
    from rich.table import Table

    from assay.bench.grid.axes import format_value
    from assay.bench.grid.summary import headline, sort_cells
    from assay.cli.bench.gate import show as show_gate

    canonical = result.receipt.canonical
    dataset, pick = canonical["dataset"], canonical["pick"]["metric"]
    rows = sort_cells(result.receipt)
    base = canonical["cells"][0]
    keys = [axis["key"] for axis in canonical["axes"]]
    click.secho(f"{sanitize(dataset['name'])}/{sanitize(dataset['dev']['split'])}", bold=True, nl=False)
    reused = result.receipt.measured["cells_kept"]
    summary = f" · {format_count(dataset['dev']['queries'], 'query')} · {format_count(len(rows), 'cell')}"
    click.echo(summary + (f", {reused} of them kept from before" if reused else ""))
    table = Table(box=None, pad_edge=False, header_style="bold")
    for key in keys:
        table.add_column(sanitize(key), justify="right")
    for name in (pick, "against base", ""):
        table.add_column(name, justify="right" if name else "left")
    first = rows[:MOST] if any(row is base for row in rows[:MOST]) else [*rows[: MOST - 1], base]
    for row in first:
        picked = result.picked is not None and row["digest"] == result.picked.system.digest
        mark = "base" if row is base else "picked" if picked else ""
        values = [format_value(row["settings"][key]) if key in row["settings"] else "·" for key in keys]
        table.add_row(*map(sanitize, values), *_numbers(row, base), mark, style="bold" if picked else "")
    make_console().print(table)
    if len(rows) > len(first):
        click.secho(f"and {len(rows) - len(first)} more in grid.md", dim=True)
    for note in canonical["notes"]:
        click.secho(sanitize(note), fg="yellow")
    if result.gate is not None:
        click.echo()
        show_gate(result.gate)
    click.echo()
    click.secho(sanitize(headline(result.receipt)), fg=_COLOURS[result.verdict], bold=True)
    names = ["grid.json", "grid.md", "grid.svg", *(["winner.toml"] if result.verdict == "pass" else [])]
    click.secho(f"{', '.join(names)} in {sanitize(str(folder))}", dim=True)


def _numbers(row: Any, base: Any) -> tuple[str, str]:
    if row["value"] is None:
        return "not measured", ""
    return f"{row['value']:.4f}", "" if base["value"] is None else f"{row['value'] - base['value']:+.4f}"


def _write(path: Path, text: str) -> None:
    """All or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(name, 0o644)
    os.replace(name, path)
