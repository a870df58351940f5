"""`assay bench report`: receipts as tables and pictures."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("receipts", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--html", "page", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="One HTML file.")
@click.option("--md", "text", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="A Markdown file.")
@click.option("--metric", default="nDCG@10", show_default=True, help="The metric that decides.")
@click.option("--against", default="", metavar="SYSTEM", help="What differences are taken to.  [default: hybrid]")
def report(receipts: tuple[Path, ...], page: Path | None, text: Path | None, metric: str, against: str) -> None:
    """Show receipts (files or folders): tables, and with --html pictures in one file that needs no network.

    \b
    assay bench report receipts/*.json --html report.html
    """
    from assay.bench.receipt import read
    from assay.bench.report import gather, html, markdown
    from assay.cli.terminal import safe
    from assay.util.atomic import write_text

    paths = [found for given in receipts for found in (sorted(given.glob("*.json")) if given.is_dir() else [given])]
    made = gather([read(path) for path in paths], metric, against)
    for target, said in ((page, html), (text, markdown)):
        if target is not None:
            write_text(target, said(made))
            click.echo(f"wrote {safe(str(target))}")
    if page is None and text is None:
        click.echo(safe(markdown(made), keep_lines=True))
