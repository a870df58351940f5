"""`assay optimize`: build indexes, vectors and graphs now, forget old versions, remove leftovers."""

from __future__ import annotations

import click

from assay.cli.options import open_store, store_option


@click.command()
@click.option("--embed", "embed_too", is_flag=True, help="Give every chunk a vector that has none.")
@click.option(
    "--embedder", metavar="SPEC", help="Move to this embedder; every chunk is embedded anew. Implies --embed."
)
@click.option(
    "--tokens",
    metavar="[PIPELINE]",
    is_flag=False,
    flag_value="",
    help="Make the token vectors ahead that late_interaction reads: as this pipeline sets it, or as by default.",
)
@click.option(
    "--graph", is_flag=True, help="Build the graph ahead that a graph leg walks; later indexes come with one."
)
@click.option(
    "--triples", metavar="SPEC", help="Let this reader say what every chunk says, for the graph; later ones too."
)
@click.option("--force", is_flag=True, help="Build the index even when it is in step.")
@click.option(
    "--forget-before", metavar="vN|TAG", help="Erase what was dead by then; older snapshots are gone for good."
)
@store_option
def optimize(
    embed_too: bool,
    embedder: str | None,
    tokens: str | None,
    graph: bool,
    triples: str | None,
    force: bool,
    forget_before: str | None,
    store: str,
) -> None:
    """Build the index now, instead of when enough has changed.

    Searches need none of this to be right: what is not in the index is searched one by one. Also removes what killed
    processes left behind.
    """
    from assay.cli.progress import progress_bars
    from assay.cli.terminal import format_count, sanitize
    from assay.errors import StoreError
    from assay.index.recall import approximate_facts

    messages: list[str] = []
    with open_store(store) as base, progress_bars() as bar:
        if base.store.readonly:
            raise StoreError(
                f"the store {base.store.address} is read-only here", "copy it to a folder you may write to"
            )
        swept = base.backend.sweep()
        if embed_too or embedder:
            embedded = base.embed_missing(embedder or "auto", bar.step)
            messages.append(f"embedded {format_count(embedded, 'chunk')} with {base.spec}")
        if triples:
            messages.append(f"read the triples of {format_count(base.read_triples(triples, bar.step), 'chunk')}")
        if forget_before:
            tags = base.store.tags()
            messages.append(f"forgot {format_count(base.forget_before(forget_before, bar.step), 'dead chunk')}")
            if lost := sorted(tags.keys() - base.store.tags().keys()):
                messages.append(f"tags of older snapshots went with them: {sanitize(', '.join(lost))}")
        if base.optimize(bar.step, force):
            messages.append(f"indexed {format_count(base.snapshot().size, 'chunk')}")
        facts = approximate_facts((base.backend.index() or {}).get("vectors"))
        if facts is not None and "recall" not in facts:
            messages.append(
                "the recall of the vectors is not measured yet, because their graph is still being built: run assay "
                "optimize again later; searches are answered meanwhile"
            )
        if graph:
            messages.append(f"built the graph of {format_count(base.build_graph(bar.step), 'chunk')}")
        if tokens is not None:
            computed = base.make_token_vectors(tokens or None, bar.step)
            messages.append(f"made the token vectors of {format_count(computed, 'chunk')}")
        if swept:
            messages.append(f"removed {format_count(swept, 'leftover')} of killed processes")
    click.echo("; ".join(messages) if messages else "the index is in step; nothing to do")
