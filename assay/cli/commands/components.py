"""`assay components`: every component that a pipeline, a store or a command line can name."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import click

from assay.cli.options import json_option

if TYPE_CHECKING:
    from assay.config.components import ComponentInfo


@click.command()
@json_option
def components(as_data: bool) -> None:
    """List legs, fusers and all other components, with origin.

    Legs, sources, triggers, fusers, stages, selectors, embedders, readers, readers of triples and backends: Assay's own
    and those of installed plug-ins. One that cannot be loaded is listed with the reason.
    """
    from dataclasses import asdict

    from assay.cli.terminal import format_json
    from assay.config.components import list_components

    infos = list_components()
    if as_data:
        click.echo(format_json([asdict(info) for info in infos], indent=2))
        return
    for kind, group in itertools.groupby(infos, lambda info: info.kind):
        members = list(group)
        click.secho(kind, bold=True)
        width = max(len(info.name) for info in members)
        for info in members:
            click.echo(_line(info, width))


def _line(info: ComponentInfo, width: int) -> str:
    from assay.cli.terminal import sanitize

    origin = click.style(sanitize(info.origin), dim=True)
    line = f"  {sanitize(info.name):<{width}}  {origin}  {sanitize(info.about)}".rstrip()
    return f"{line}  {click.style(sanitize(info.trouble), fg='yellow')}" if info.trouble else line
