"""`assay bench compare`: compare runs by metric and stratum, with significance tests."""

from __future__ import annotations

from pathlib import Path

import click

from assay.cli.options import json_option, split_names


@click.command()
@click.argument("receipts", nargs=-1, required=True, type=click.Path(dir_okay=False, path_type=Path))
@click.option("--metrics", default="", metavar="A,B,…", help="Declared beforehand.  [default: all that the runs share]")
@click.option(
    "--scope", "scopes", multiple=True, metavar="NAME", help="all, or a stratum; repeatable.  [default: every]"
)
@click.option("--groups", default="", metavar="FIELD", help="Queries that belong together, e.g. conversation.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write it as a receipt.")
@json_option
def compare(
    receipts: tuple[Path, ...], metrics: str, scopes: tuple[str, ...], groups: str, out: Path | None, as_data: bool
) -> None:
    """Test runs against the first of RECEIPTS, query by query.

    \b
    assay bench compare receipts/scifact.test.bm25.json receipts/scifact.test.default.json

    Differences come with a bootstrap interval and a paired sign-flip test. p is adjusted: by Holm over the metrics,
    by Benjamini-Hochberg over the strata. The fewer metrics are declared, the less is adjusted away. Queries of one
    conversation or document are not independent: with --groups, intervals are bootstrapped over groups first.
    """
    from assay.bench.compare import compare as compare_runs
    from assay.bench.receipt import read, write
    from assay.cli.terminal import escape_json
    from assay.cli.views.compare import show

    declared = split_names(metrics) or None
    comparison = compare_runs([read(path) for path in receipts], declared, scopes or None, groups)
    if out is not None:
        write(comparison, out)
    if as_data:
        click.echo(escape_json(comparison.dumps().rstrip()))
    else:
        show(comparison)
