"""`assay optimize`: build the index now, make vectors ahead of time, forget the past, sweep up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from assay.cli.options import opened, store_option

if TYPE_CHECKING:
    from assay.kb import KnowledgeBase
    from assay.types import Progress


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
    from assay.cli.progress import bars
    from assay.cli.terminal import count, safe
    from assay.errors import StoreError

    said: list[str] = []
    with opened(store) as base, bars() as bar:
        if base.store.readonly:
            raise StoreError(
                f"the store {base.store.address} is read-only here", "copy it to a folder you may write to"
            )
        swept = base.backend.sweep()
        if embed_too or embedder:
            made = base.embed_missing(embedder or "auto", bar.step)
            said.append(f"embedded {count(made, 'chunk')} with {base.spec}")
        if triples:
            said.append(f"read the triples of {count(base.read_triples(triples, bar.step), 'chunk')}")
        if forget_before:
            tags = base.store.tags()
            said.append(f"forgot {count(base.forget_before(forget_before, bar.step), 'dead chunk')}")
            if lost := sorted(tags.keys() - base.store.tags().keys()):
                said.append(f"tags of older snapshots went with them: {safe(', '.join(lost))}")
        if base.optimize(bar.step, force):
            said.append(f"indexed {count(base.snapshot().size, 'chunk')}")
        if graph:
            said.append(f"built the graph of {count(base.build_graph(bar.step), 'chunk')}")
        if tokens is not None:
            said.append(f"made the token vectors of {count(_make_tokens(base, tokens, bar.step), 'chunk')}")
        if swept:
            said.append(f"removed {count(swept, 'leftover')} of killed processes")
    click.echo("; ".join(said) if said else "the index is in step; nothing to do")


def _make_tokens(base: KnowledgeBase, pipeline: str, step: Progress) -> int:
    """Fill the cache of token vectors for every live chunk; how many were not there yet."""
    from assay.errors import ConfigError, ModelError
    from assay.rerank.late_interaction import LateInteraction, token_store

    chosen = [plan.step for plan in base.pipeline(pipeline).steps] if pipeline else [LateInteraction()]
    readers = {(one.model, one.bits) for one in chosen if isinstance(one, LateInteraction)}
    if not readers:
        raise ConfigError(f"the pipeline {pipeline!r} has no step late_interaction", "name one that has, or none")
    made, size = 0, base.snapshot().size
    for model, bits in sorted(readers):
        kept = token_store(model, bits)
        texts = (chunk.indexed_text for chunk in base.chunks())
        made += kept.fill(texts, lambda done: step("reading tokens", done, size))
        if kept.shelf.bypassed:
            raise ModelError(f"token vectors could not be kept: {kept.shelf.trouble}", "make room, or set ASSAY_HOME")
    return made
