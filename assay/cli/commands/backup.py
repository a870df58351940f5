"""`assay backup` and `assay restore`: one file that holds a whole store."""

from __future__ import annotations

from pathlib import Path

import click

from assay.cli.options import open_store, store_option


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace the file when it is already there.")
@store_option
def backup(file: Path, force: bool, store: str) -> None:
    """Copy the store to one file while others read and write it.

    The file is checked and appears whole or not at all. Indexes are left out: a restored store builds its own.
    """
    from assay.cli.terminal import format_size, sanitize
    from assay.upkeep.backup import backup as copy

    with open_store(store) as base:
        version = base.store.version()
        weight = copy(base.store, file, replace=force)
    click.echo(f"{sanitize(str(file))} holds v{version}, {format_size(weight)}, checked")


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@store_option
def restore(file: Path, store: str) -> None:
    """Make a new store from a backup."""
    from assay.cli.progress import progress_bars
    from assay.cli.terminal import format_count, sanitize
    from assay.upkeep.backup import restore as restore_store

    restore_store(file, store).close()
    with open_store(store) as base, progress_bars() as bar:
        base.optimize(bar.step)
        snapshot = base.snapshot()
    chunks = format_count(snapshot.size, "chunk")
    click.echo(f"{sanitize(str(store))} is restored: v{snapshot.version}, {chunks}, indexed")
