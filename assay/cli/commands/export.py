"""`assay export`: every chunk as a line of JSON."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from assay.cli.options import open_store, store_option


@click.command()
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Where to write.  [default: stdout]"
)
@click.option("--vectors", is_flag=True, help="With the embedding vectors.")
@store_option
def export(output: Path | None, vectors: bool, store: str) -> None:
    """Write every live chunk as a line of JSON.

    A file given with -o is written whole or not at all.
    """
    from assay.cli.terminal import escape_json, sanitize
    from assay.util.atomic_files import atomic_writer

    with open_store(store) as base:
        if output is None:
            for line in base.export(with_vectors=vectors):
                sys.stdout.write(f"{escape_json(line)}\n")
            return
        base.store.check_outside(output)
        with atomic_writer(output) as file:
            for line in base.export(with_vectors=vectors):
                file.write(f"{line}\n".encode())
    click.echo(f"wrote {sanitize(str(output))}", err=True)
