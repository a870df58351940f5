"""`assay bench replay`: the same digest again, or the first difference."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("receipts", nargs=-1, required=True, type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--dataset", metavar="NAME|DIR", help="Where the dataset is, when the receipt's own word does not find it."
)
def replay(receipts: tuple[Path, ...], dataset: str | None) -> None:
    """Run receipts again from what they say, and compare digests.

    Exits with 0 when every digest is the same, with 1 when one differs: what changed is named, inputs first, then the
    first differing query.
    """
    from assay.bench.receipt import read
    from assay.bench.replay import replay as again
    from assay.cli.progress import bars
    from assay.cli.terminal import safe

    differing = 0
    for path in receipts:
        with bars() as bar:
            result = again(read(path), dataset, bar.step)
        digest = result.receipt.digest
        if result.same:
            click.echo(f"{click.style('same', fg='green', bold=True)} {digest[:16]} {safe(str(path))}")
            continue
        differing += 1
        word = click.style("differs", fg="red", bold=True)
        click.echo(f"{word} {digest[:16]} → {result.again.digest[:16]} {safe(str(path))}")
        for line in result.differences:
            click.echo(f"  {safe(line)}")
    if differing:
        raise click.exceptions.Exit(1)
