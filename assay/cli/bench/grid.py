"""`assay bench grid`: sweep a pipeline's settings, pick on dev, confirm on test."""

from __future__ import annotations

from pathlib import Path

import click

from assay.cli.options import json_option


@click.command()
@click.argument("dataset")
@click.option(
    "--vary", "axes", multiple=True, required=True, metavar="KEY=VALUES", help="a..b, a..b/7, a..b*log or a,b,c."
)
@click.option(
    "--base", metavar="NAME|FILE", help="The pipeline to vary.  [default: the first preset that has the keys]"
)
@click.option("--pick", default="nDCG@10", show_default=True, metavar="METRIC", help="What dev decides by.")
@click.option("--rules", default="promote", show_default=True, metavar="NAME|FILE", help="The gates on test.")
@click.option("--dev", default="dev", show_default=True, metavar="SPLIT", help="The split that decides.")
@click.option("--test", default="test", show_default=True, metavar="SPLIT", help="The split that confirms.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="[default: grid-DATASET]")
@click.option("--workers", type=click.IntRange(1), metavar="N", help="Processes.  [default: one per core, at most 4]")
@click.option("--embedder", default="auto", metavar="NAME", help="The embedding model.  [default: the installed one]")
@click.option("--language", default="english", metavar="NAME", help="Stemming of the words.  [default: english]")
@click.option("--profile", default="default", metavar="NAME", help="How documents are cut: default or fine.")
@json_option
def grid(
    dataset: str,
    axes: tuple[str, ...],
    base: str | None,
    pick: str,
    rules: str,
    dev: str,
    test: str,
    out: Path | None,
    workers: int | None,
    embedder: str,
    language: str,
    profile: str,
    as_data: bool,
) -> None:
    """Sweep settings on DATASET: every cell a run on dev, one winner.

    \b
    assay bench grid scifact --vary fuse.c=10..100 --vary fuse.weights.dense=0.2..2.0
    assay bench grid tiny --base weighted --vary step.importance.base=0.5..1/3

    A key is a path into the pipeline's TOML: legs.bm25.k, fuse.c, step.NAME.KEY. The best cell on dev is held
    against the base on test, once, under the rules. Written to the folder: grid.json, grid.md, grid.svg, every
    cell's receipt, and winner.toml when there is one. A sweep that was killed goes on where it was. Exits with 0
    for a winner, 1 when none passes, 2 when something was not measured.
    """
    from assay.bench.gates.rules import load_rules
    from assay.bench.gates.verdicts import EXIT_CODES
    from assay.bench.grid import SweepDataset, build_sweep, choose_base, promote
    from assay.bench.systems import load_system
    from assay.bench.workspace import IndexSettings
    from assay.cli.progress import progress_bars
    from assay.cli.terminal import escape_json
    from assay.cli.views.grid import show, write_files
    from assay.util.worker_pool import count_workers as default_workers

    cells = build_sweep(load_system(base) if base else choose_base(axes), axes)
    folder = out or Path(f"grid-{Path(dataset).name.replace(':', '-')}")
    with progress_bars() as bar:
        result = promote(
            cells,
            SweepDataset(dataset, IndexSettings(embedder, language, profile)),
            load_rules(rules),
            folder,
            pick=pick,
            splits=(dev, test),
            workers=workers or default_workers(),
            progress=bar.step,
        )
    write_files(result, folder)
    if as_data:
        click.echo(escape_json(result.receipt.dumps().rstrip()))
    else:
        show(result, folder)
    raise click.exceptions.Exit(EXIT_CODES[result.verdict])
