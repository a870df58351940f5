"""`assay bench`: the table of the lab's commands."""

from __future__ import annotations

from collections.abc import Mapping

import click

from assay.cli.failures import Group

BENCH_COMMANDS: Mapping[str, str] = {
    "run": "assay.cli.bench_run:run",
    "replay": "assay.cli.bench_replay:replay",
    "compare": "assay.cli.bench_compare:compare",
    "gate": "assay.cli.bench_gate:gate",
    "grid": "assay.cli.bench_grid:grid",
    "router": "assay.cli.bench_router:router",
    "report": "assay.cli.bench_report:report",
    "synth": "assay.cli.bench_synth:synth",
    "diff": "assay.cli.bench_diff:diff",
    "datasets": "assay.cli.bench_datasets:datasets",
}


@click.group(cls=Group, table=BENCH_COMMANDS)
def bench() -> None:
    """Is it better, and can you prove it?

    Datasets × systems × metrics × gates → receipts that replay byte for byte.

    \b
    assay bench run tiny --systems bm25,dense,default --out receipts/
    assay bench compare receipts/tiny.test.bm25.json receipts/tiny.test.default.json
    """
