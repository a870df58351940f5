"""`assay bench rb006 public`: the flat baseline on public test sets."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("sets", nargs=-1, metavar="[SET]...")
@click.option("--rerank", default="late_interaction", show_default=True, metavar="NAME", help="As in `run`.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("rb006-public"), show_default=True, metavar="DIR")
def public(sets: tuple[str, ...], rerank: str, out: Path) -> None:
    """Measure the flat systems on BEIR test sets (scifact, nfcorpus) from $ASSAY_DATA, beside published values.

    A check that the strong flat baseline is strong outside of the suite. Nothing here is gated. Receipts are kept in
    --out: an interrupted run goes on.

    \b
    assay bench rb006 public
    assay bench rb006 public nfcorpus --rerank cross_encoder:assay-mini-ce
    """
    from assay.bench.rb006.public_sets import PUBLISHED, measure_public
    from assay.cli.progress import progress_bars
    from assay.cli.terminal import format_json
    from assay.util.atomic_files import write_text

    with progress_bars() as bar:
        lines = measure_public(tuple(dict.fromkeys(sets)) or tuple(PUBLISHED), out, rerank=rerank, progress=bar.step)
    about = "the flat systems of RB-006 on public test sets"
    written = {"measured": {"about": about, "rerank": rerank, "sets": lines}}
    write_text(out / "public_sets.json", format_json(written, indent=1) + "\n")
    for line in lines:
        click.echo(f"{line['set']}: {line['queries']} queries, {line['chunks']:,} chunks")
        for name, one in line["systems"].items():
            click.echo(f"  {name:35} nDCG@10 {one['nDCG@10']:.3f}  R@100 {one['R@100']:.3f}")
        for name, value in line["published"].items():
            click.echo(f"  {'published: ' + name:35} nDCG@10 {value:.3f}")
