"""`assay memory export` and `assay memory import`."""

from __future__ import annotations

from pathlib import Path

import click

from assay.cli.memory.options import open_memory, scopes_option
from assay.cli.memory.write import WAYS
from assay.cli.options import json_option, store_option

FORMATS = ("jsonl", "mem0", "claude-memory-mcp", "memory-lancedb-pro")


@click.command()
@scopes_option
@store_option
def export(scopes: tuple[str, ...], store: str) -> None:
    """Print every memory as a line of JSON, the superseded and the expired included."""
    from assay.cli.terminal import escape_json

    with open_memory(store) as memory:
        for line in memory.export(scopes):
            click.echo(escape_json(line))


@click.command("import")
@click.argument("source", type=click.Path(path_type=Path, exists=True))
@click.option(
    "--from",
    "format",
    type=click.Choice(FORMATS),
    default="jsonl",
    metavar="FORMAT",
    help="jsonl (our own export), mem0, claude-memory-mcp or memory-lancedb-pro.",
)
@click.option("--into", metavar="SCOPE", help="Put all of them into this scope, whatever they say themselves.")
@click.option(
    "--on-duplicate", type=click.Choice(WAYS), default="skip", metavar="|".join(WAYS), help="If one is known already."
)
@scopes_option
@store_option
@json_option
def import_(
    source: Path,
    format: str,
    into: str | None,
    on_duplicate: str,
    scopes: tuple[str, ...],
    store: str,
    as_data: bool,
) -> None:
    """Bring memories in from a file or folder of another program, or from our own export.

    Only records of the scopes that --scope names are taken, or all of them with --into. What cannot be taken is listed,
    and the exit code is 1 then.
    """
    from assay.cli.progress import progress_bars
    from assay.cli.terminal import format_json
    from assay.cli.views.memory import show_imported

    with open_memory(store, create=True) as memory, progress_bars() as bar:
        done = memory.import_(
            source,
            scope=(*scopes, *([into] if into else [])),
            format=format,
            into=into,
            on_duplicate=on_duplicate,  # type: ignore[arg-type]
            progress=bar.step,
        )
    if as_data:
        click.echo(format_json(done.to_json(), indent=2))
    else:
        show_imported(done)
    if done.problems:
        raise click.exceptions.Exit(1)
