"""`assay bench datasets`: what can be run by name."""

from __future__ import annotations

import click


@click.command()
def datasets() -> None:
    """List the datasets that `assay bench run` knows by name; set ASSAY_DATA to a folder of your own sets."""
    from assay.bench.datasets import available
    from assay.cli.terminal import safe

    for name in available():
        click.echo(safe(name))
