"""`assay replay`: a served answer, computed again from its record."""

from __future__ import annotations

from pathlib import Path

import click

from assay.cli.options import json_option, opened, store_option


@click.command()
@click.argument("record", type=click.Path(dir_okay=False, path_type=Path))
@store_option
@json_option
@click.option("--plain", is_flag=True, help="No colours and no bars.")
def replay(record: Path, store: str, as_data: bool, plain: bool) -> None:
    """Compute a served answer again from its record.

    The record is what `assay search --record` kept; the exit code is 1 when the answer differs. Decisions of the clock,
    and what other sources brought, are taken from it; the rest is computed anew in the version that served it.
    """
    from assay import replay as served
    from assay.cli.terminal import as_json, safe
    from assay.errors import StoreError

    try:
        text = record.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{record} cannot be read: {error}", "name a file of `assay search --record`") from error
    with opened(store) as base:
        found = served.replay(served.loads(text), base)
        if as_data:
            click.echo(as_json({"same": found.same, **found.answer.to_json()}, indent=2))
        else:
            from assay.cli.views.answer import show_answer

            show_answer(found.answer, "replay", plain=plain)
            said, colour = ("the served answer", "green") if found.same else ("not the served answer", "red")
            click.secho(f"{said}: {safe(str(record))}", fg=colour)
            if found.hint:
                click.echo(found.hint)
    if not found.same:
        raise click.exceptions.Exit(1)
