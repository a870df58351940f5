"""`assay bench diff`: what changes between two pipelines on a query log, without labels."""

from __future__ import annotations

from pathlib import Path

import click

from assay.cli.options import json_option, store_option


@click.command()
@click.argument("a")
@click.argument("b")
@click.option(
    "--queries", type=click.Path(path_type=Path), required=True, metavar="FILE", help="A query log, one per line."
)
@store_option
@click.option("-k", type=click.IntRange(1), default=10, show_default=True, help="Compare so many results.")
@click.option("--snapshot", metavar="vN|TAG", help="Read the store as it was at a version or tag.")
@click.option("--top", type=click.IntRange(0), default=10, show_default=True, help="Show the so many most changed.")
@click.option(
    "--html", "page_path", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Also one page."
)
@json_option
def diff(
    a: str,
    b: str,
    queries: Path,
    store: str,
    k: int,
    snapshot: str | None,
    top: int,
    page_path: Path | None,
    as_data: bool,
) -> None:
    """Ask pipelines A and B (presets or TOML files) the queries of a log, and show what would change.

    \b
    assay bench diff default mine.toml --queries log.jsonl --store ./kb

    The log holds one query per line: {"query": "…"} or {"text": "…"} in a .jsonl file, plain text in any other. A
    line that cannot be read is named and left out. Needs no labels, so it cannot say which is better, only where to
    look: the queries come most changed first (rank-biased overlap), with what entered, what left and why.
    """
    from assay.bench.diff import compare
    from assay.bench.diff_html import render_page
    from assay.bench.query_log import read_log
    from assay.cli.options import open_store
    from assay.cli.progress import progress_bars
    from assay.cli.terminal import format_json, sanitize
    from assay.cli.views.diff import show
    from assay.util.atomic_files import write_text

    log = read_log(queries)
    for line in log.skipped:
        click.echo(f"{click.style('left out', fg='yellow')}  {sanitize(line)}", err=True)
    with open_store(store) as base, progress_bars() as bar:
        pipelines = base.pipeline(a), base.pipeline(b)
        difference = compare(base, *pipelines, log.queries, k, snapshot=snapshot, progress=bar.step)
    if page_path is not None:
        write_text(page_path, render_page(difference, (a, b)))
        click.echo(f"wrote {sanitize(str(page_path))}", err=True)
    if as_data:
        click.echo(format_json({**difference.to_json(), "skipped": list(log.skipped)}, indent=2))
    else:
        show(difference, (a, b), top)
