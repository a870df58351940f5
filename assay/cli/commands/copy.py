"""`assay copy`: the store at another address, whatever backend keeps it there."""

from __future__ import annotations

import click

from assay.cli.options import open_store, store_option


@click.command()
@click.argument("to", metavar="ADDRESS")
@store_option
def copy(to: str, store: str) -> None:
    """Copy a store to another address: folder, file or server.

    Every live chunk is copied as it is, with its id, file, source and vector; nothing is read or embedded anew, and the
    original stays as it was. Older versions, tags and deleted chunks are not copied. Stopped half-way, the same
    command goes on where it stopped.
    """
    from assay.backend.addresses import redact_password
    from assay.cli.progress import progress_bars
    from assay.cli.terminal import format_count, sanitize
    from assay.upkeep.copy_store import copy_store as copy_store

    with progress_bars() as bar:
        with open_store(store) as base:
            has_vectors = bool(base.store.settings["dim"])
            copy_store(base.store, to, bar.step).close()
        with open_store(to) as target:
            target.optimize(bar.step)
            chunks = format_count(target.snapshot().size, "chunk")
            loses_vectors = has_vectors and not target.store.settings["dim"]
    loss = "; words only: it cannot hold the vectors" if loses_vectors else ""
    click.echo(f"{sanitize(redact_password(to))} holds {chunks}, indexed{loss}")
