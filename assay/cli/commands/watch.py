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
@click.argument("path", type=click.Path(exists=True, file_okay=False, path_type=Path))
@store_option
@click.option("--as", "name", metavar="NAME", help="What to call this folder in the store.  [default: its name]")
@click.option("--embedder", default="auto", metavar="SPEC", help="For a new store: auto, none, minilm, onnx:…, http:….")
def watch(path: Path, store: str, name: str | None, embedder: str) -> None:
    """Keep a store in step with a changing folder; Ctrl-C ends it.

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
        compared = False
        stream = events(
            root, debounce=DEBOUNCE_MS, rust_timeout=200, yield_on_timeout=True, raise_interrupt=True, watch_filter=None
        )
        for changes in stream:  # the first turn comes once the watch stands: what changes while we compare is not lost
            if not compared:
                _tell(base.add(root, name=source), "")
                click.secho(f"watching {root}; Ctrl-C ends", dim=True)
                compared = True
            for report, what in _follow(base, root, source, sorted({Path(changed) for _, changed in changes})):
                _tell(report, what)
    click.echo("stopped; everything reported above is in the store")


def _follow(base: KnowledgeBase, root: Path, source: str, changed: list[Path]) -> Iterator[tuple[AddReport, str]]:
    """Bring what changed into the store: single files one by one, folders and crowds by comparing everything."""
    from assay.ingest.readers import has_reader

    own = base.store.place.resolve() if base.store.place else None
    seen = [path for path in changed if _is_ours(path, root, own)]
    files = [path for path in seen if has_reader(path.suffix) and not path.is_dir()]
    if len(files) > ONE_BY_ONE or any(path.is_dir() or _was_folder(path, root, source, base) for path in seen):
        yield base.add(root, name=source), ""
        return
    for path in files:
        sync = base.sync()
        yield sync.one(root, path, source), str(path.relative_to(root))
    if files and base.backend.due:
        base.optimize()


def _is_ours(path: Path, root: Path, store: Path | None) -> bool:
    """Not hidden, not passed over by `add`, not the store itself."""
    from assay.ingest.walk import PASSED_OVER

    steps = path.relative_to(root).parts
    inside = store is not None and path.is_relative_to(store)
    return not inside and not any(s.startswith(".") or s in PASSED_OVER for s in steps)


def _was_folder(path: Path, root: Path, source: str, base: KnowledgeBase) -> bool:
    """Did a folder vanish from which the store holds files?"""
    from assay.ingest.walk import plain_name

    if path.exists():
        return False
    below = f"{source}/{plain_name(path.relative_to(root).as_posix())}/"
    return any(origin.startswith(below) for origin in base.store.files(source))


def _tell(report: AddReport, what: str) -> None:
    """One line per change; silence when nothing is different."""
    from assay.cli.terminal import count, safe

    words = [word for word in ("added", "changed", "removed") if getattr(report, word)]
    if words:
        files = ", ".join(f"{word} {what or count(getattr(report, word), 'file')}" for word in words)
        chunks = f"+{report.chunks_added:,} −{report.chunks_removed:,} chunks"
        click.echo(f"v{report.version}  {safe(files)}  {click.style(chunks, dim=True)}")
    for name, reason in report.problems:
        click.echo(f"{click.style('problem', fg='yellow')}  {safe(name)}: {safe(reason)}", err=True)
