"""`assay watch`: keep a store in step with a folder while it changes."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.cli.options import store_option

if TYPE_CHECKING:
    from assay.ingest.add_report import AddReport

DEBOUNCE_MS = 400
"""Changes that come closer together than this are handled together: editors write a file in several steps."""


@click.command()
@click.argument("path", type=click.Path(exists=True, file_okay=False, path_type=Path))
@store_option
@click.option("--as", "name", metavar="NAME", help="What to call this folder in the store.  [default: its name]")
@click.option(
    "--embedder", default="auto", metavar="SPEC", help="For a new store: auto, none, minilm, gte-small, onnx:…, http:…."
)
def watch(path: Path, store: str, name: str | None, embedder: str) -> None:
    """Keep a store in step with a changing folder; Ctrl-C ends it.

    First compares the whole folder, then follows the file system's events, one line per change.
    """
    from assay import kb
    from assay.errors import MissingExtra
    from assay.ingest.origins import default_name

    try:
        from watchfiles import watch as events
    except ImportError as error:
        raise MissingExtra("assay watch", "watch") from error

    root = path.resolve()
    source = name or default_name(root)
    with kb.open(store, embedder=embedder) as base, contextlib.suppress(KeyboardInterrupt):
        compared = False
        stream = events(
            root, debounce=DEBOUNCE_MS, rust_timeout=200, yield_on_timeout=True, raise_interrupt=True, watch_filter=None
        )
        for changes in stream:  # the first turn comes once the watch is set up, so changes during `add` are not lost
            if not compared:
                _report(base.add(root, name=source), "")
                click.secho(f"watching {root}; Ctrl-C ends", dim=True)
                compared = True
            for file, report in base.add_changed(root, sorted({Path(changed) for _, changed in changes}), source):
                _report(report, file)
    click.echo("stopped; everything reported above is in the store")


def _report(report: AddReport, file: str) -> None:
    """Print one line per change; nothing if nothing changed."""
    from assay.cli.terminal import format_count, sanitize

    actions = [action for action in ("added", "changed", "removed") if getattr(report, action)]
    if actions:
        files = ", ".join(f"{action} {file or format_count(getattr(report, action), 'file')}" for action in actions)
        chunks = f"+{report.chunks_added:,} −{report.chunks_removed:,} chunks"
        click.echo(f"v{report.version}  {sanitize(files)}  {click.style(chunks, dim=True)}")
    for name, warning in report.warnings:
        click.echo(f"{click.style('warning', fg='yellow')}  {sanitize(name)}: {sanitize(warning)}", err=True)
    for name, reason in report.problems:
        click.echo(f"{click.style('problem', fg='yellow')}  {sanitize(name)}: {sanitize(str(reason))}", err=True)
