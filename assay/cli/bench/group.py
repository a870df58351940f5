"""`assay bench`: the table of the lab's commands."""

from __future__ import annotations

from collections.abc import Mapping

import click

from assay.cli.failures import CommandGroup

BENCH_COMMANDS: Mapping[str, str] = {
    "run": "assay.cli.bench.run:run",
    "replay": "assay.cli.bench.replay:replay",
    "compare": "assay.cli.bench.compare:compare",
    "loso": "assay.cli.bench.loso:loso",
    "losses": "assay.cli.bench.losses:losses",
    "gate": "assay.cli.bench.gate:gate",
    "grid": "assay.cli.bench.grid:grid",
    "router": "assay.cli.bench.router:router",
    "report": "assay.cli.bench.report:report",
    "synth": "assay.cli.bench.synth:synth",
    "rb006": "assay.cli.bench.rb006:rb006",
    "repair": "assay.cli.bench.repair:repair",
    "diff": "assay.cli.bench.diff:diff",
    "datasets": "assay.cli.bench.group:datasets",
}


@click.group(cls=CommandGroup, table=BENCH_COMMANDS)
def bench() -> None:
    """Is it better, and can you prove it?

    Datasets × systems × metrics × gates → receipts that replay byte for byte.

    \b
    assay bench run tiny --systems bm25,dense,default --out receipts/
    assay bench compare receipts/tiny.test.bm25.json receipts/tiny.test.default.json
    """


@click.command()
def datasets() -> None:
    """List the datasets that `assay bench run` knows by name; set ASSAY_DATA to a folder of your own sets."""
    from assay.bench.datasets import list_datasets
    from assay.cli.terminal import sanitize

    for name in list_datasets():
        click.echo(sanitize(name))
