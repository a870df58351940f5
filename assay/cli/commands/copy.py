"""`assay copy`: the store at another address, whatever backend keeps it there."""

from __future__ import annotations

import click

from assay.cli.options import opened, store_option


@click.command()
@click.argument("to", metavar="ADDRESS")
@store_option
def copy(to: str, store: str) -> None:
    """Copy a store to another address: folder, file or server.

    Every live chunk is copied as it is, with its id, file, source and vector; nothing is read or embedded anew, and the
    original stays as it was. Older versions, tags and deleted chunks are not copied. Stopped half-way, the same
    command goes on where it stopped.
    """
    from assay.backend.addresses import hidden
    from assay.cli.progress import bars
    from assay.cli.terminal import count, safe
    from assay.upkeep.copy_store import copy as copied

    with bars() as bar:
        with opened(store) as base:
            meaning = bool(base.store.settings["dim"])
            copied(base.store, to, bar.step).close()
        with opened(to) as made:
            made.optimize(bar.step)
            chunks = count(made.snapshot().size, "chunk")
            lost = "; words only: it cannot hold the vectors" if meaning and not made.store.settings["dim"] else ""
    click.echo(f"{safe(hidden(to))} holds {chunks}, indexed{lost}")
