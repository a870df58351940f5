"""`assay memory list`, `stats` and `history`."""

from __future__ import annotations

import click

from assay.cli.memory.options import at_option, kind_options, open_memory, scopes_option
from assay.cli.options import json_option, resolve_moment, store_option


@click.command("list")
@kind_options
@at_option
@click.option("-n", "limit", type=click.IntRange(1), default=50, metavar="N", help="How many.  [default: 50]")
@click.option("--offset", type=click.IntRange(0), default=0, metavar="N", help="How many to pass over first.")
@click.option("--all", "everything", is_flag=True, help="Also the superseded and the expired.")
@scopes_option
@store_option
@json_option
def list_(
    category: str | None,
    tags: tuple[str, ...],
    since: str | None,
    until: str | None,
    at: str | None,
    limit: int,
    offset: int,
    everything: bool,
    scopes: tuple[str, ...],
    store: str,
    as_data: bool,
) -> None:
    """List memories, newest first."""
    from assay.cli.terminal import format_json
    from assay.cli.views.memory import show_entries

    with open_memory(store) as memory:
        found = memory.list(
            scope=scopes,
            category=category,
            tags=tags,
            since=since,
            until=until,
            at=resolve_moment(at),
            limit=limit,
            offset=offset,
            everything=everything,
        )
    if as_data:
        click.echo(format_json([entry.to_json() for entry in found], indent=2))
    elif found:
        show_entries(found)
    else:
        click.secho("nothing is remembered here", dim=True)


@click.command()
@at_option
@scopes_option
@store_option
@json_option
def stats(at: str | None, scopes: tuple[str, ...], store: str, as_data: bool) -> None:
    """Count what is remembered."""
    from assay.cli.terminal import format_json
    from assay.cli.views.memory import show_stats

    with open_memory(store) as memory:
        found = memory.stats(scopes, at=resolve_moment(at))
    if as_data:
        click.echo(format_json(found.to_json(), indent=2))
    else:
        show_stats(found)


@click.command()
@click.argument("id", metavar="ID")
@scopes_option
@store_option
@json_option
def history(id: str, scopes: tuple[str, ...], store: str, as_data: bool) -> None:
    """Show every state a memory was in, also after it was forgotten, until it is purged.

    ID is a memory's id or the beginning of one.
    """
    from assay.cli.terminal import format_json
    from assay.cli.views.memory import show_history

    with open_memory(store) as memory:
        found = memory.history(id, scope=scopes)
    if as_data:
        click.echo(format_json([change.to_json() for change in found], indent=2))
    else:
        show_history(found)
