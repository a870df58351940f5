"""`assay bench report`: receipts as tables and charts."""

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
    from assay.bench.report import build_report, render_html, render_markdown
    from assay.cli.terminal import sanitize
    from assay.util.atomic_files import write_text

    paths = [file for path in receipts for file in (sorted(path.glob("*.json")) if path.is_dir() else [path])]
    gathered = build_report([read(path) for path in paths], metric, against)
    for target, render in ((page, render_html), (text, render_markdown)):
        if target is not None:
            write_text(target, render(gathered))
            click.echo(f"wrote {sanitize(str(target))}")
    if page is None and text is None:
        click.echo(sanitize(render_markdown(gathered), keep_lines=True))
