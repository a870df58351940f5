"""`assay tag`: name the present version."""

from __future__ import annotations

import click

from assay.cli.options import open_store, store_option


@click.command()
@click.argument("name")
@store_option
def tag(name: str, store: str) -> None:
    """Name the present version, to be read later with --snapshot."""
    from assay.cli.terminal import sanitize

    with open_store(store) as base:
        version = base.tag(name)
    click.echo(f"{sanitize(name)} is v{version}")
