"""`assay replay`: a served answer, computed again from its record."""

from __future__ import annotations

from pathlib import Path

import click

from assay.cli.options import json_option, open_store, store_option


@click.command()
@click.argument("record", type=click.Path(dir_okay=False, path_type=Path))
@store_option
@json_option
@click.option("--plain", is_flag=True, help="No colours and no bars.")
def replay(record: Path, store: str, as_data: bool, plain: bool) -> None:
    """Compute a served answer again from its record.

    The record is what `assay search --record` wrote; the exit code is 1 when the answer differs. Decisions of the
    clock, and the results of other sources, are read from it; the rest is computed again in the version that served
    it.
    """
    from assay import replay as served
    from assay.cli.terminal import format_json, sanitize
    from assay.errors import StoreError

    try:
        text = record.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{record} cannot be read: {error}", "name a file of `assay search --record`") from error
    with open_store(store) as base:
        result = served.replay(served.loads(text), base)
        if as_data:
            click.echo(format_json({"same": result.same, **result.answer.to_json()}, indent=2))
        else:
            from assay.cli.views.answer import show_answer

            show_answer(result.answer, "replay", base.origin, plain=plain)
            outcome, colour = ("the served answer", "green") if result.same else ("not the served answer", "red")
            click.secho(f"{outcome}: {sanitize(str(record))}", fg=colour)
            if result.hint:
                click.echo(result.hint)
    if not result.same:
        raise click.exceptions.Exit(1)
