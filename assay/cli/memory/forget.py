"""`assay memory forget`."""

from __future__ import annotations

from pathlib import Path

import click

from assay.cli.commands.rm import is_interactive
from assay.cli.memory.options import open_memory, pipeline_option, scopes_option
from assay.cli.options import json_option, store_option


@click.command()
@click.argument("id", required=False, metavar="[ID]")
@click.option("--query", metavar="TEXT", help="Forget what this recalls, once you have seen it and said yes.")
@click.option("-k", type=click.IntRange(1), default=5, metavar="N", help="How many --query may take.  [default: 5]")
@click.option("--purge", is_flag=True, help="Also remove the text from every version, index, cache and known backup.")
@click.option(
    "--backup",
    "backups",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A backup to purge that the store does not know of.",
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("--confirm", metavar="TOKEN", help="The token that an earlier call showed: forget exactly that.")
@pipeline_option
@scopes_option
@store_option
@json_option
def forget(
    id: str | None,
    query: str | None,
    k: int,
    purge: bool,
    backups: tuple[Path, ...],
    yes: bool,
    confirm: str | None,
    pipeline: str,
    scopes: tuple[str, ...],
    store: str,
    as_data: bool,
) -> None:
    """Forget a memory: it is never recalled again.

    ID is a memory's id or the beginning of one; what it had superseded goes with it. Its text stays in older versions
    of the store until --purge, which removes it from everything the store knows of, cannot be undone, and says what it
    cannot reach. With --query, and with --purge, you are asked first; where nobody can be asked, nothing happens and
    the exit code is 1.
    """
    from assay.cli.terminal import format_json
    from assay.cli.views.memory import show_forgotten
    from assay.memory.types import Confirm, MemoryEntry

    def ask(entries: tuple[MemoryEntry, ...]) -> bool:
        if yes:
            return True
        if as_data or not is_interactive():
            return False
        from assay.cli.terminal import format_count
        from assay.cli.views.memory import show_entries

        show_entries(entries)
        sure = "Purge" if purge else "Forget"
        return click.confirm(f"{sure} {format_count(len(entries), 'memory')}?", err=True)

    asks: Confirm = confirm or (ask if query is not None or purge else None)
    with open_memory(store, pipeline=pipeline) as memory:
        done = memory.forget(id, scope=scopes, query=query, confirm=asks, k=k, purge=purge, backups=backups)
        if as_data:
            click.echo(format_json(done.to_json(), indent=2))
        else:
            show_forgotten(done)
    if not done.done:
        raise click.exceptions.Exit(1)
