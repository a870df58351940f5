"""`assay explain`: why a chunk has its rank, or why it is missing."""

from __future__ import annotations

import click

from assay.cli.options import open_store, query_argument, query_text, search_arguments, search_options


@click.command()
@query_argument
@click.option("--id", "chunk_id", required=True, metavar="CHUNK", help="A chunk's id, or a unique beginning of it.")
@search_options
def explain(
    query: tuple[str, ...],
    chunk_id: str,
    k: int | None,
    pipeline: str,
    where: str | None,
    at: str | None,
    since: str | None,
    until: str | None,
    scope: str | None,
    snapshot: str | None,
    sort: str,
    budget: int | None,
    store: str,
    as_data: bool,
    plain: bool,
) -> None:
    """Say why a chunk is at its place, or why it is not there.

    Ids are shown by `assay search` and `assay ls -v`.
    """
    from assay.cli.terminal import format_json
    from assay.cli.views.explain import show_explanation

    with open_store(store, pipeline) as base:
        arguments = search_arguments(
            k,
            at,
            pipeline=pipeline,
            where=where,
            since=since,
            until=until,
            scope=scope,
            snapshot=snapshot,
            sort=sort,
            budget=budget,
        )
        explanation = base.explain(query_text(query), chunk_id, **arguments)
        if as_data:
            click.echo(format_json(explanation.to_json(), indent=2))
        else:
            show_explanation(explanation, base.pipeline(pipeline).name, plain=plain)
