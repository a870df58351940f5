"""`assay reembed`: move a store to another model while the old vectors go on serving."""

from __future__ import annotations

import click

from assay.cli.options import open_store, store_option


@click.command()
@click.option(
    "--embedder", metavar="SPEC", help="The model to move to; by default one begun before, else the store's own."
)
@store_option
def reembed(embedder: str | None, store: str) -> None:
    """Embed every chunk anew under another model.

    The old vectors serve until the last new one is there. Stopped half-way, the same command goes on where it stopped.
    With the store's own model, only chunks that have no vector are embedded.
    """
    from assay.cli.progress import progress_bars
    from assay.cli.terminal import format_count
    from assay.errors import StoreError

    with open_store(store) as base, progress_bars() as bar:
        if base.store.readonly:
            raise StoreError(f"the store {base.store.address} is read-only here", "use one that you may write to")
        embedded = base.embed_missing(embedder or "auto", bar.step)
        spec = base.spec
    click.echo(f"embedded {format_count(embedded, 'chunk')} with {spec}")
