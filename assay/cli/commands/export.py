"""`assay export`: every chunk as a line of JSON."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from assay.cli.options import opened, store_option


@click.command()
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Where to write.  [default: stdout]"
)
@click.option("--vectors", is_flag=True, help="With the embedding vectors.")
@store_option
def export(output: Path | None, vectors: bool, store: str) -> None:
    """Write every live chunk as a line of JSON.

    It is what it takes to leave, or to look. A file given with -o appears whole or not at all.
    """
    from assay.cli.terminal import escaped, safe
    from assay.store.sqlite import SqliteStore
    from assay.util.atomic import whole

    with opened(store) as base:
        if output is None:
            for line in base.export(with_vectors=vectors):
                sys.stdout.write(f"{escaped(line)}\n")
            return
        if isinstance(base.store, SqliteStore):
            base.store.check_elsewhere(output)
        with whole(output) as file:
            for line in base.export(with_vectors=vectors):
                file.write(f"{line}\n".encode())
    click.echo(f"wrote {safe(str(output))}", err=True)
