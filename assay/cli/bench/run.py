"""`assay bench run`: measure systems on a dataset, one receipt each."""

from __future__ import annotations

from pathlib import Path

import click

from assay.cli.options import json_option, split_names


@click.command()
@click.argument("dataset")
@click.option("--systems", "names", default="default", metavar="A,B,…", help="Presets, baselines or TOML files.")
@click.option("--split", default="test", show_default=True, help="train, dev, test, all, or the name of a qrels file.")
@click.option("--at", metavar="DATE|end", help="Ask undated questions at this date, or when their documents end.")
@click.option("--metrics", default="", metavar="A,B,…", help="E.g. nDCG@10,R@100; the first decides.  [default: many]")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="Where receipts go.")
@click.option("--baselines/--no-baselines", default=True, help="Also run random, oracle, bm25, dense, hybrid, …")
@click.option("--again", is_flag=True, help="Run also what has a fitting receipt in --out already.")
@click.option("--timing/--no-timing", default=True, help="Measure latency, systems in turns, after the results.")
@click.option("--abstention", is_flag=True, help="Also ask what has no answer: does a system keep silent?")
@click.option("--scoped", is_flag=True, help="Answer each question from its scope alone, as a memory does.")
@click.option("--with-text", is_flag=True, help="Put the queries' texts into the receipts, outside the digest.")
@click.option("--with-rankings", is_flag=True, help="Keep the first documents of every ranking, for `bench losses`.")
@click.option("--embedder", default="auto", metavar="NAME", help="The embedding model.  [default: the installed one]")
@click.option("--language", default="english", metavar="NAME", help="Stemming of the words.  [default: english]")
@click.option("--profile", default="default", metavar="NAME", help="How documents are cut: default or fine.")
@click.option(
    "--store", metavar="ADDRESS", help="Index the corpus in this new store, e.g. on a server.  [default: the cache]"
)
@click.option("--seed", default=0, help="For the random baseline.")
@click.option("--strict", is_flag=True, help="Defects of the data are errors, not remarks; see `bench repair`.")
@json_option
def run(
    dataset: str,
    names: str,
    split: str,
    at: str | None,
    metrics: str,
    out: Path | None,
    baselines: bool,
    again: bool,
    timing: bool,
    abstention: bool,
    scoped: bool,
    with_text: bool,
    with_rankings: bool,
    embedder: str,
    language: str,
    profile: str,
    store: str | None,
    seed: int,
    strict: bool,
    as_data: bool,
) -> None:
    """Measure systems on DATASET: a name (see `assay bench datasets`), a folder or an id.

    \b
    assay bench run tiny --systems bm25,dense,default
    assay bench run scifact --split dev --systems default,mine.toml --out receipts/

    The corpus is indexed once and kept, in the cache or in a store of yours (--store postgres://…). Every system
    answers every query from that one index; a document is ranked by its best chunk. A receipt is written per system;
    an interrupted run continues. Exits with 1 when a result is impossible (worse than random, better than the oracle).
    """
    from assay.bench import lab
    from assay.bench.datasets import load
    from assay.bench.runner import RunPlan
    from assay.bench.systems import BASELINES, load_systems
    from assay.bench.workspace import IndexSettings, prepare, prepare_store
    from assay.cli.progress import progress_bars
    from assay.cli.terminal import format_json
    from assay.cli.views.run import show

    chosen = load_systems([*split_names(names), *(name for name in BASELINES if baselines)])
    plan = RunPlan(tuple(split_names(metrics)), seed=seed, abstention=abstention, scoped=scoped)
    data = load(dataset, _with_date(split, at), strict=strict)
    plan = plan.fit(data)  # reports a misspelt metric before anything is indexed
    settings = IndexSettings(embedder, language, profile)
    with (
        progress_bars() as bar,
        prepare_store(data, store, settings, bar.step) if store else prepare(data, settings, bar.step) as workspace,
    ):
        options = {"again": again, "timed": timing, "with_text": with_text, "with_rankings": with_rankings}
        outcome = lab.run(data, chosen, workspace, plan, out=out, progress=bar.step, **options)
    if as_data:
        receipts = {name: {"digest": r.digest, **r.canonical} for name, r in outcome.receipts.items()}
        click.echo(format_json(receipts))
    else:
        show(data, plan, outcome, out)
    if outcome.broken:
        raise click.exceptions.Exit(1)


def _with_date(split: str, at: str | None) -> str:
    """A split with a date: test~50 and end give test@end~50."""
    if at is None:
        return split
    name, tilde, sizes = split.partition("~")
    return f"{name}@{at}{tilde}{sizes}"
