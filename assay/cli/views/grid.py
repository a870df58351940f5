"""A sweep for people: the best cells, the gates on test, and the files it wrote."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.cli.terminal import console, count, safe

if TYPE_CHECKING:
    from assay.bench.grid import SweepResult

MOST = 12
"""Cells shown; the files have them all."""
_COLOURS = {"pass": "green", "fail": "red", "not_measured": "yellow"}


def put(found: SweepResult, folder: Path) -> None:
    """Receipt, table, picture, and the winner as a pipeline to use."""
    from assay.bench.grid.picture import svg
    from assay.bench.grid.table import markdown
    from assay.bench.receipt import write
    from assay.cli.toml import resolved_toml

    write(found.receipt, folder / "grid.json")
    _write(folder / "grid.md", markdown(found.receipt))
    _write(folder / "grid.svg", svg(found.receipt))
    if found.verdict == "pass" and found.picked is not None and found.picked.system.pipeline is not None:
        _write(folder / "winner.toml", resolved_toml(found.picked.system.pipeline))
    else:
        (folder / "winner.toml").unlink(missing_ok=True)


def show(found: SweepResult, folder: Path) -> None:
    from rich.table import Table

    from assay.bench.grid.table import headline, ordered
    from assay.bench.grid.vary import shown
    from assay.cli.bench.gate import show as show_gate

    canonical = found.receipt.canonical
    dataset, pick = canonical["dataset"], canonical["pick"]["metric"]
    rows = ordered(found.receipt)
    base = canonical["cells"][0]
    keys = [axis["key"] for axis in canonical["axes"]]
    click.secho(f"{safe(dataset['name'])}/{safe(dataset['dev']['split'])}", bold=True, nl=False)
    kept = found.receipt.measured["cells_kept"]
    said = f" · {count(dataset['dev']['queries'], 'query')} · {count(len(rows), 'cell')}"
    click.echo(said + (f", {kept} of them kept from before" if kept else ""))
    table = Table(box=None, pad_edge=False, header_style="bold")
    for key in keys:
        table.add_column(safe(key), justify="right")
    for name in (pick, "against base", ""):
        table.add_column(name, justify="right" if name else "left")
    first = rows[:MOST] if any(row is base for row in rows[:MOST]) else [*rows[: MOST - 1], base]
    for row in first:
        picked = found.picked is not None and row["digest"] == found.picked.system.digest
        mark = "base" if row is base else "picked" if picked else ""
        values = [shown(row["settings"][key]) if key in row["settings"] else "·" for key in keys]
        table.add_row(*map(safe, values), *_numbers(row, base), mark, style="bold" if picked else "")
    console().print(table)
    if len(rows) > len(first):
        click.secho(f"and {len(rows) - len(first)} more in grid.md", dim=True)
    for note in canonical["notes"]:
        click.secho(safe(note), fg="yellow")
    if found.gate is not None:
        click.echo()
        show_gate(found.gate)
    click.echo()
    click.secho(safe(headline(found.receipt)), fg=_COLOURS[found.verdict], bold=True)
    names = ["grid.json", "grid.md", "grid.svg", *(["winner.toml"] if found.verdict == "pass" else [])]
    click.secho(f"{', '.join(names)} in {safe(str(folder))}", dim=True)


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
