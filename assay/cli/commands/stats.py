"""`assay stats`: a store in numbers."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from assay.cli.options import json_option, open_store, store_option

if TYPE_CHECKING:
    from assay.upkeep.inventory import StoreStats


@click.command()
@store_option
@json_option
def stats(store: str, as_data: bool) -> None:
    """Show a store in numbers.

    Chunks, documents, tokens, languages, versions, tags, index, model and sizes on disk.
    """
    from assay.backend.addresses import redact_password
    from assay.cli.terminal import format_json, sanitize
    from assay.upkeep.inventory import collect_stats as count_store

    with open_store(store) as base:
        numbers = count_store(base.backend)
    if as_data:
        click.echo(format_json(asdict(numbers), indent=2))
        return
    for name, text in _lines(redact_password(store), numbers):
        click.echo(f"{click.style(f'{name:>10}', bold=True)}  {sanitize(text)}")


def _lines(store: str, numbers: StoreStats) -> list[tuple[str, str]]:
    from assay.cli.terminal import format_count, format_size
    from assay.index.recall import describe_recall

    settings, index = numbers.settings, numbers.index
    languages = ", ".join(f"{name or 'untold'} {number:,}" for name, number in list(numbers.languages.items())[:8])
    tags = ", ".join(f"{name} = v{version}" for name, version in numbers.tags.items())
    model = f"none: {numbers.no_vectors or 'words only (assay model install, then assay optimize --embed)'}"
    if settings["dim"]:
        model = f"{settings['embedder']} {settings['model'][:12]}, {settings['dim']} dimensions"
        model += f"; {numbers.without_vector:,} chunks without a vector" if numbers.without_vector else ""
    index_text = f"none; {format_count(numbers.pending, 'chunk')} are searched one by one"
    if index is not None:
        waiting = index.get("waiting") or f"{format_count(numbers.pending, 'change')} since"
        recall = describe_recall(index.get("vectors"))
        waiting = f"{waiting}; {recall}" if recall else waiting
        index_text = f"{format_count(index['chunks'], 'chunk')} as of v{index['version']}; {waiting}"
    reader = settings.get("triples", "none")
    bm25 = "".join(f", {name} = {settings[name]:g}" for name in ("k1", "b") if name in settings)
    return [
        ("store", f"{store}, format {settings['format']}"),
        ("chunks", f"{numbers.chunks:,}; older snapshots also show {numbers.dead:,} dead"),
        ("documents", f"{numbers.documents:,}"),
        ("tokens", f"{numbers.tokens:,}"),
        ("languages", languages or "none"),
        ("words", f"stemmed as {settings['language']}, chunks of profile {settings['profile']}{bm25}"),
        ("model", model),
        *([] if reader == "none" else [("triples", f"read by {reader}")]),
        ("versions", f"v{numbers.oldest} to v{numbers.newest}"),
        ("tags", tags or "none"),
        ("index", index_text),
        ("on disk", ", ".join(f"{name} {format_size(weight)}" for name, weight in numbers.sizes.items() if weight)),
    ]
