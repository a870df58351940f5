"""`assay watch`: keep a store in step with a folder while it changes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.cli.options import store_option

if TYPE_CHECKING:
    from assay.kb import KnowledgeBase
    from assay.sync import AddReport

DEBOUNCE_MS = 400
"""Changes that come closer together than this are dealt with together: editors write a file in several steps."""
ONE_BY_ONE = 64
"""More changes at once than this (a checkout, a move) and the whole folder is compared again."""


@click.command()
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@store_option
@click.option("--as", "name", metavar="NAME", help="What to call this folder in the store.  [default: its name]")
@click.option("--embedder", default="auto", metavar="SPEC", help="For a new store: auto, none, minilm, onnx:…, http:….")
def watch(path: Path, store: Path, name: str | None, embedder: str) -> None:
    """Keep a store in step with a folder while it changes; Ctrl-C ends it.

    First compares the whole folder, then follows the file system's events, one line per change.
    """
    from assay import kb
    from assay.errors import MissingExtra
    from assay.sync import default_source

    try:
        from watchfiles import watch as events
    except ImportError as error:
        raise MissingExtra("assay watch", "watch") from error

    root = path.resolve()
    source = name or default_source(root)
    with kb.open(store, embedder=embedder) as base, contextlib.suppress(KeyboardInterrupt):
        # The events are asked for before the comparison: what changes meanwhile is not missed.
        stream = events(root, debounce=DEBOUNCE_MS, raise_interrupt=True, watch_filter=None)
        _tell(base.add(root, name=source), "all of it")
        click.echo(click.style(f"watching {root} (Ctrl-C ends)", dim=True))
        for changes in stream:
            for report, what in _follow(base, root, source, sorted({Path(changed) for _, changed in changes})):
                _tell(report, what)
    click.echo("stopped; the store is in step with what was seen")


def _follow(base: KnowledgeBase, root: Path, source: str, changed: list[Path]) -> Iterator[tuple[AddReport, str]]:
    """Bring what changed into the store: single files one by one, anything larger by comparing the folder."""
    from assay.ingest.readers import has_reader
    from assay.sync import Sync

    visible = [path for path in changed if not any(p.startswith(".") for p in path.relative_to(root).parts)]
    files = [path for path in visible if has_reader(path.suffix)]
    folders = [path for path in visible if path.is_dir() or not path.suffix]
    if root.is_file() or folders or len(files) > ONE_BY_ONE:
        yield base.add(root, name=source), "all of it"
        return
    for path in files:
        sync = Sync(base.store, base.embedder, base.profile)
        yield sync.one(root, path, source), str(path.relative_to(root))


def _tell(report: AddReport, what: str) -> None:
    """One line per change; silence when nothing is different."""
    from assay.cli.terminal import count, safe

    words = [w for w in ("added", "changed", "removed") if getattr(report, w)]
    if words:
        files = ", ".join(f"{w} {count(getattr(report, w), 'file')}" for w in words)
        chunks = f"+{report.chunks_added} −{report.chunks_removed} chunks"
        click.echo(f"v{report.version}  {files}  {safe(what)}  {click.style(chunks, dim=True)}")
    for name, reason in report.problems:
        click.echo(f"{click.style('problem', fg='yellow')}  {safe(name)}: {safe(reason)}", err=True)
