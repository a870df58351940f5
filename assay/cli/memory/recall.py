"""`assay memory recall` and `assay memory explain`."""

from __future__ import annotations

import click

from assay.cli.memory.options import at_option, kind_options, open_memory, pipeline_option, scopes_option
from assay.cli.options import json_option, query_argument, query_text, resolve_moment, store_option


@click.command()
@query_argument
@click.option("-k", type=click.IntRange(1), default=5, metavar="N", help="How many memories at most.  [default: 5]")
@kind_options
@at_option
@pipeline_option
@click.option("--always", is_flag=True, help="Look even when the message seems to need no memory.")
@click.option("--fail-empty", is_flag=True, help="Exit with 1 when nothing is recalled.")
@scopes_option
@store_option
@json_option
@click.option("--plain", is_flag=True, help="No colours and no bars.")
def recall(
    query: tuple[str, ...],
    k: int,
    category: str | None,
    tags: tuple[str, ...],
    since: str | None,
    until: str | None,
    at: str | None,
    pipeline: str,
    always: bool,
    fail_empty: bool,
    scopes: tuple[str, ...],
    store: str,
    as_data: bool,
    plain: bool,
) -> None:
    """Recall what answers a message; every memory says why it stands where it stands.

    QUERY is any text, several words without quotes too, or - for standard input. A message that needs no memory
    ("thanks!") is not looked up, and the answer says so. A superseded memory is served as the one that took its place.
    """
    from assay.cli.terminal import format_json
    from assay.cli.views.memory import show_recalled

    with open_memory(store, pipeline=pipeline) as memory:
        found = memory.recall(
            query_text(query),
            scope=scopes,
            k=k,
            at=resolve_moment(at),
            category=category,
            tags=tags,
            since=since,
            until=until,
            adaptive=not always,
        )
        if as_data:
            click.echo(format_json(found.to_json(), indent=2))
        else:
            show_recalled(found, plain=plain)
    if fail_empty and not len(found):
        raise click.exceptions.Exit(1)


@click.command()
@query_argument
@click.option("--id", "memory_id", required=True, metavar="ID", help="A memory's id, or a unique beginning of it.")
@click.option("-k", type=click.IntRange(1), default=5, metavar="N", help="How many are recalled.  [default: 5]")
@at_option
@pipeline_option
@scopes_option
@store_option
@json_option
@click.option("--plain", is_flag=True, help="No colours and no bars.")
def explain(
    query: tuple[str, ...],
    memory_id: str,
    k: int,
    at: str | None,
    pipeline: str,
    scopes: tuple[str, ...],
    store: str,
    as_data: bool,
    plain: bool,
) -> None:
    """Say why a memory is recalled at its place, or why it is not.

    Ids are shown by `assay memory recall` and `assay memory list`; --all lists superseded and expired ones too.
    """
    from assay.cli.terminal import format_json
    from assay.cli.views.memory import show_explained

    with open_memory(store, pipeline=pipeline) as memory:
        found = memory.explain(query_text(query), memory_id, scope=scopes, k=k, at=resolve_moment(at))
        if as_data:
            click.echo(format_json(found.to_json(), indent=2))
        else:
            show_explained(found, plain=plain)
