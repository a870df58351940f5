"""`assay rm`: remove folders, files, documents or chunks."""

from __future__ import annotations

import sys

import click

from assay.cli.options import open_store, store_option


def is_interactive() -> bool:
    """Can a question be answered?"""
    return sys.stdin.isatty()


@click.command()
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...")
@click.option("-y", "--yes", is_flag=True, help="Do not ask, even when several documents go.")
@store_option
def rm(targets: tuple[str, ...], yes: bool, store: str) -> None:
    """Remove folders, files, documents or chunks.

    TARGET is a name that `assay ls` shows, or the beginning of a chunk's id. What is removed is gone from every later
    snapshot; older ones still show it until `assay optimize --forget-before`. A file that is still in its folder comes
    back with the next `assay add`.
    """
    from assay.cli.terminal import format_count, sanitize
    from assay.errors import ConfigError, StoreError
    from assay.upkeep.inventory import count_removal

    with open_store(store) as base:
        reach = {target: count_removal(base.backend, target) for target in dict.fromkeys(targets)}
        for target, (_, chunks) in reach.items():
            if not chunks:
                raise StoreError(
                    f"nothing here is called {target!r}", "see what there is: assay ls; nothing was removed"
                )
        documents = sum(number for number, _ in reach.values())
        if documents > 1 and not yes:
            extent_text = (
                f"{format_count(documents, 'document')} with {format_count(sum(c for _, c in reach.values()), 'chunk')}"
            )
            if not is_interactive():
                raise ConfigError(f"this removes {extent_text}, and there is nobody to ask", "say so with --yes")
            if not click.confirm(f"Remove {extent_text}?", err=True):
                click.echo("nothing was removed")
                raise click.exceptions.Exit(1)
        for target in reach:
            if count_removal(base.backend, target)[1]:  # an earlier target may have held this one
                click.echo(f"removed {sanitize(target)}: {format_count(base.remove(target), 'chunk')}")
