"""`assay bench compare`: compare runs by metric and stratum, with significance tests."""

from __future__ import annotations

from pathlib import Path

import click

from assay.cli.options import json_option, split_names


@click.command()
@click.argument("receipts", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--metrics", default="", metavar="A,B,…", help="Declared beforehand.  [default: all that the runs share]")
@click.option(
    "--scope", "scopes", multiple=True, metavar="NAME", help="all, or a stratum; repeatable.  [default: every]"
)
@click.option("--systems", default="", metavar="A,B,…", help="Of several sets: the baseline first.  [default: all]")
@click.option("--split", default="", metavar="NAME", help="Of several sets: this split only.")
@click.option("--groups", default="", metavar="FIELD", help="Queries that belong together, e.g. conversation.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write it as a receipt.")
@json_option
def compare(
    receipts: tuple[Path, ...],
    metrics: str,
    scopes: tuple[str, ...],
    systems: str,
    split: str,
    groups: str,
    out: Path | None,
    as_data: bool,
) -> None:
    """Test runs against the first of RECEIPTS, query by query; runs on several sets, or a folder of them, set by set.

    \b
    assay bench compare receipts/scifact.test.bm25.json receipts/scifact.test.default.json
    assay bench compare receipts/ --systems bm25,default --split test

    Over several sets every set counts once: the mean of the sets' means (nDCG@10 unless --metrics says otherwise), wins
    and losses over sets, and a test whose unit is the set. That says whether a lead holds on sets nobody tuned on.

    Differences come with a bootstrap interval and a paired sign-flip test. p is adjusted: by Holm over the metrics,
    by Benjamini-Hochberg over the strata. The fewer metrics are declared, the less is adjusted away. Queries of one
    conversation or document are not independent: with --groups, intervals are bootstrapped over groups first.
    """
    from assay.bench.compare import compare as compare_runs
    from assay.bench.pooled import METRIC, find_runs, pool
    from assay.bench.receipt import write
    from assay.cli.terminal import escape_json
    from assay.cli.views.compare import show, show_pooled

    declared = split_names(metrics)
    runs = find_runs(receipts)
    several = len({str(run.canonical.get("dataset")) for run in runs}) > 1 or any(path.is_dir() for path in receipts)
    if several:
        if scopes or groups:
            raise click.UsageError("--scope and --groups are for runs on one set")
        comparison = pool(runs, split_names(systems), declared or (METRIC,), split)
    elif systems or split:
        raise click.UsageError("--systems and --split are for runs on several sets")
    else:
        comparison = compare_runs(runs, declared or None, scopes or None, groups)
    if out is not None:
        write(comparison, out)
    if as_data:
        click.echo(escape_json(comparison.dumps().rstrip()))
    elif several:
        show_pooled(comparison)
    else:
        show(comparison)
