"""`assay stats`: a store in numbers."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from assay.cli.options import json_option, opened, store_option

if TYPE_CHECKING:
    from assay.upkeep.inventory import StoreStats


@click.command()
@store_option
@json_option
def stats(store: str, as_data: bool) -> None:
    """Show a store in numbers.

    Chunks, documents, tokens, languages, versions, tags, index, model and sizes on disk.
    """
    from assay.backend.addresses import hidden
    from assay.cli.terminal import as_json, safe
    from assay.upkeep.inventory import stats as counted

    with opened(store) as base:
        found = counted(base.backend)
    if as_data:
        click.echo(as_json(asdict(found), indent=2))
        return
    for name, text in _lines(hidden(store), found):
        click.echo(f"{click.style(f'{name:>10}', bold=True)}  {safe(text)}")


def _lines(store: str, found: StoreStats) -> list[tuple[str, str]]:
    from assay.cli.terminal import count, size

    settings, index = found.settings, found.index
    languages = ", ".join(f"{name or 'untold'} {number:,}" for name, number in list(found.languages.items())[:8])
    tags = ", ".join(f"{name} = v{version}" for name, version in found.tags.items())
    model = f"none: {found.no_vectors or 'words only (assay model install, then assay optimize --embed)'}"
    if settings["dim"]:
        model = f"{settings['embedder']} {settings['model'][:12]}, {settings['dim']} dimensions"
        model += f"; {found.without_vector:,} chunks without a vector" if found.without_vector else ""
    built = f"none; {count(found.pending, 'chunk')} are searched one by one"
    if index is not None:
        waiting = index.get("waiting") or f"{count(found.pending, 'change')} since"
        built = f"{count(index['chunks'], 'chunk')} as of v{index['version']}; {waiting}"
    reader = settings.get("triples", "none")
    return [
        ("store", f"{store}, format {settings['format']}"),
        ("chunks", f"{found.chunks:,}; older snapshots also show {found.dead:,} dead"),
        ("documents", f"{found.documents:,}"),
        ("tokens", f"{found.tokens:,}"),
        ("languages", languages or "none"),
        ("words", f"stemmed as {settings['language']}, chunks of profile {settings['profile']}"),
        ("model", model),
        *([] if reader == "none" else [("triples", f"read by {reader}")]),
        ("versions", f"v{found.oldest} to v{found.newest}"),
        ("tags", tags or "none"),
        ("index", built),
        ("on disk", ", ".join(f"{name} {size(weight)}" for name, weight in found.sizes.items() if weight)),
    ]
