"""`assay bench losses`: the queries on which a system loses most."""

from __future__ import annotations

from pathlib import Path

import click

from assay.cli.options import json_option, split_names


@click.command()
@click.argument("receipt", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--against",
    default="bm25,dense",
    show_default=True,
    metavar="A,B,…",
    help="Systems with receipts beside RECEIPT: the legs, or oracle.",
)
@click.option("--metric", default="nDCG@10", show_default=True, help="What is lost.")
@click.option("--top", type=click.IntRange(1), default=10, show_default=True, help="How many queries.")
@json_option
def losses(receipt: Path, against: str, metric: str, top: int, as_data: bool) -> None:
    """Show the queries on which a system loses most against the better of others, with its relevant documents.

    \b
    assay bench run scifact --systems default --with-rankings --out receipts/
    assay bench losses receipts/scifact.test.default.json
    assay bench losses receipts/scifact.test.default.json --against oracle

    Each relevant document has its title and its rank in every system. Against the legs it shows what fusion costs,
    against the oracle what a perfect order would gain.
    """
    from assay.bench.datasets import load
    from assay.bench.lab import file_name
    from assay.bench.losses import find_losses
    from assay.bench.metrics import parse
    from assay.bench.receipt import read
    from assay.cli.terminal import format_json
    from assay.cli.views.losses import show

    own = read(receipt)
    described = own.canonical["dataset"]
    dataset = load(described["source"], described["split"])
    others = [read(receipt.parent / file_name(dataset, name)) for name in split_names(against)]
    found = find_losses(dataset, [own, *others], str(parse(metric)), top)
    if as_data:
        click.echo(format_json([loss.to_dict() for loss in found], indent=2))
    else:
        show(found, own.canonical["system"]["name"], split_names(against), str(parse(metric)))
