"""`assay backup` and `assay restore`: one file that holds a whole store."""

from __future__ import annotations

from pathlib import Path

import click

from assay.cli.options import opened, store_option


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace the file when it is already there.")
@store_option
def backup(file: Path, force: bool, store: str) -> None:
    """Copy the store to one file while others read and write it.

    The file is checked and appears whole or not at all. Indexes are left out: a restored store builds its own.
    """
    from assay.cli.terminal import safe, size
    from assay.upkeep.backup import backup as copy

    with opened(store) as base:
        version = base.store.version()
        weight = copy(base.store, file, replace=force)
    click.echo(f"{safe(str(file))} holds v{version}, {size(weight)}, checked")


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@store_option
def restore(file: Path, store: str) -> None:
    """Make a new store from a backup."""
    from assay.cli.progress import bars
    from assay.cli.terminal import count, safe
    from assay.upkeep.backup import restore as put_back

    put_back(file, store).close()
    with opened(store) as base, bars() as bar:
        base.optimize(bar.step)
        view = base.snapshot()
        said = f"{safe(str(store))} is restored: v{view.version}, {count(view.size, 'chunk')}, indexed"
    click.echo(said)
