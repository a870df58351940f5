"""`assay ls`: what is in a store."""

from __future__ import annotations

from dataclasses import asdict
from itertools import groupby

import click

from assay.cli.options import json_option, opened, store_option


@click.command()
@click.argument("prefix", default="")
@click.option("-v", "--verbose", is_flag=True, help="Also every chunk: its id, its tokens, its first words.")
@store_option
@json_option
def ls(prefix: str, verbose: bool, store: str, as_data: bool) -> None:
    """List sources, files and documents with their chunks.

    With PREFIX, only those whose name begins so.
    """
    from assay.cli.terminal import as_json, count, safe, size
    from assay.upkeep.inventory import entries, heads

    with opened(store) as base:
        found = entries(base.store, prefix)
        roots = base.store.sources()
        if as_data:
            chunks = {e.origin: [h._asdict() for h in heads(base.store, e.origin)] for e in found} if verbose else {}
            lines = [{**asdict(e), **({"heads": chunks[e.origin]} if verbose else {})} for e in found]
            click.echo(as_json({"sources": roots, "files": lines}, indent=2))
            return
        for source, listed in groupby(found, key=lambda entry: entry.source):
            click.secho(safe(source), bold=True, nl=False)
            click.secho(f"  {safe(roots.get(source, ''))}", dim=True)
            for entry in listed:
                name = safe(entry.origin.removeprefix(f"{source}/"))
                documents = f"{count(entry.documents, 'document')}, " if entry.documents > 1 else ""
                facts = f"{documents}{count(entry.chunks, 'chunk')}, {count(entry.tokens, 'token')}"
                click.echo(f"  {name}  " + click.style(f"{facts}, {size(entry.size)}", dim=True))
                for head in heads(base.store, entry.origin) if verbose else ():
                    words = safe(head.text)
                    shown = words if len(words) <= 60 else f"{words[:59]}…"
                    click.echo(f"    {click.style(safe(head.id), fg='cyan')}  {head.tokens:>4}  {shown}")
        chunks_total = sum(entry.chunks for entry in found)
        documents_total = sum(entry.documents for entry in found)
        if not found:
            hint = f"nothing here begins with {prefix!r}" if prefix else "this store is empty: assay add ./my-docs"
            click.secho(safe(hint), dim=True)
        else:
            said = f"{count(len(found), 'file')}, {count(documents_total, 'document')}, {count(chunks_total, 'chunk')}"
            click.secho(said, dim=True)
