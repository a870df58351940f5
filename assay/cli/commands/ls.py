"""`assay ls`: what is in a store."""

from __future__ import annotations

from dataclasses import asdict
from itertools import groupby

import click

from assay.cli.options import json_option, open_store, store_option


@click.command()
@click.argument("prefix", default="")
@click.option("-v", "--verbose", is_flag=True, help="Also every chunk: its id, its tokens, its first words.")
@store_option
@json_option
def ls(prefix: str, verbose: bool, store: str, as_data: bool) -> None:
    """List folders, files and documents with their chunks.

    With PREFIX, only those whose name begins so.
    """
    from assay.cli.terminal import format_count, format_json, format_size, sanitize
    from assay.upkeep.inventory import list_heads, list_origins

    with open_store(store) as base:
        files = list_origins(base.store, prefix)
        roots = base.store.folders()
        if as_data:
            chunks = (
                {e.origin: [h._asdict() for h in list_heads(base.store, e.origin)] for e in files} if verbose else {}
            )
            lines = [{**asdict(e), **({"heads": chunks[e.origin]} if verbose else {})} for e in files]
            click.echo(format_json({"folders": roots, "files": lines}, indent=2))
            return
        for folder, entries_ in groupby(files, key=lambda entry: entry.folder):
            click.secho(sanitize(folder), bold=True, nl=False)
            click.secho(f"  {sanitize(roots.get(folder, ''))}", dim=True)
            for entry in entries_:
                name = sanitize(entry.origin.removeprefix(f"{folder}/"))
                documents = f"{format_count(entry.documents, 'document')}, " if entry.documents > 1 else ""
                facts = f"{documents}{format_count(entry.chunks, 'chunk')}, {format_count(entry.tokens, 'token')}"
                click.echo(f"  {name}  " + click.style(f"{facts}, {format_size(entry.size)}", dim=True))
                for head in list_heads(base.store, entry.origin) if verbose else ():
                    words = sanitize(head.text)
                    excerpt = words if len(words) <= 60 else f"{words[:59]}…"
                    click.echo(f"    {click.style(sanitize(head.id), fg='cyan')}  {head.tokens:>4}  {excerpt}")
        chunks_total = sum(entry.chunks for entry in files)
        documents_total = sum(entry.documents for entry in files)
        if not files:
            hint = f"nothing here begins with {prefix!r}" if prefix else "this store is empty: assay add ./my-docs"
            click.secho(sanitize(hint), dim=True)
        else:
            totals = {"file": len(files), "document": documents_total, "chunk": chunks_total}
            click.secho(", ".join(format_count(total, noun) for noun, total in totals.items()), dim=True)
