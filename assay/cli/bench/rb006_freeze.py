"""`assay bench rb006 freeze`: a fresh suite, before anything is run on it."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("handwritten", type=click.Path(path_type=Path, exists=True, dir_okay=False), metavar="QUERIES.JSONL")
@click.option("--world", "templates", required=True, metavar="NAME", help="A template set that was never used.")
@click.option("--seed", type=int, required=True, help="The organisation that is simulated.")
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="FILE", help="The suite; JSON.")
def freeze(handwritten: Path, templates: str, seed: int, out: Path) -> None:
    """Freeze a fresh suite: the digest of its queries and gold, with a fifth of them written by hand.

    A retriever that was improved after the verdict is judged on a suite that it has never seen. Write a template set
    beside templates_frozen, look at its queries with `sample --world NAME --seed S`, write one line for each query
    that a person asks ({"id": "q005", "text": "…"}), and put the file that this writes into assay/bench/rb006/suites.
    Every later build checks the digest.

    \b
    assay bench rb006 freeze handwritten.jsonl --world autumn --seed 2027 --out assay/bench/rb006/suites/autumn.json
    """
    from datetime import UTC, datetime

    from assay.bench.rb006.freezing import format_suite, freeze_suite, read_handwritten
    from assay.cli.progress import progress_bars
    from assay.util.atomic_files import write_text

    texts = read_handwritten(handwritten)
    with progress_bars() as bar:
        suite = freeze_suite(templates, seed, texts, datetime.now(UTC).date().isoformat(), bar.step)
    write_text(out, format_suite(suite))
    click.echo(f"{out}: {templates}, seed {seed}, {len(texts)} hand-written queries, digest {suite.sha256[:12]}")
