"""`assay explain`: why is a chunk at its place, or not there at all?"""

from __future__ import annotations

import click

from assay.cli.options import opened, query_text, question, search_options, with_graph


@click.command()
@click.argument("query")
@click.option("--id", "chunk_id", required=True, metavar="CHUNK", help="A chunk's id, or a unique beginning of it.")
@search_options
def explain(
    query: str,
    chunk_id: str,
    k: int | None,
    pipeline: str,
    where: str | None,
    at: str | None,
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
    from assay.cli.terminal import as_json
    from assay.cli.views.explain import explanation_json, show_explanation

    with opened(store) as base:
        with_graph(base, pipeline)
        asked = question(
            k, at, pipeline=pipeline, where=where, scope=scope, snapshot=snapshot, sort=sort, budget=budget
        )
        found = base.explain(query_text(query), chunk_id, **asked)
        if as_data:
            click.echo(as_json(explanation_json(found), indent=2))
        else:
            show_explanation(found, base.pipeline(pipeline).name, plain=plain)
