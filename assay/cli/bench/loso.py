"""`assay bench loso`: choose a system on all sets but one, report it on that one."""

from __future__ import annotations

from pathlib import Path

import click

from assay.cli.options import json_option, split_names


@click.command()
@click.argument("datasets", nargs=-1, required=True)
@click.option("--systems", "names", default="", metavar="A,B,…", help="The family: presets, baselines or TOML files.")
@click.option("--vary", "axes", multiple=True, metavar="KEY=VALUES", help="The family: settings, as in `bench grid`.")
@click.option("--base", metavar="NAME|FILE", help="The pipeline to vary.  [default: the first preset with the keys]")
@click.option("--baseline", default="default", show_default=True, metavar="NAME|FILE", help="What it is held against.")
@click.option("--metric", default="nDCG@10", show_default=True, metavar="NAME", help="What decides, and is reported.")
@click.option("--dev", default="dev", show_default=True, metavar="SPLIT", help="The split that decides, e.g. dev~200.")
@click.option("--test", default="test", show_default=True, metavar="SPLIT", help="The split that is reported.")
@click.option(
    "--runs", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="Keep every run's receipt."
)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write it as a receipt.")
@click.option("--embedder", default="auto", metavar="NAME", help="The embedding model.  [default: the installed one]")
@click.option("--language", default="english", metavar="NAME", help="Stemming of the words.  [default: english]")
@click.option("--profile", default="default", metavar="NAME", help="How documents are cut: default or fine.")
@json_option
def loso(
    datasets: tuple[str, ...],
    names: str,
    axes: tuple[str, ...],
    base: str | None,
    baseline: str,
    metric: str,
    dev: str,
    test: str,
    runs: Path | None,
    out: Path | None,
    embedder: str,
    language: str,
    profile: str,
    as_data: bool,
) -> None:
    """Leave one set out: would a choice made on the other DATASETS have been right on this one?

    \b
    assay bench loso scifact nfcorpus cranfield --systems default,learned,rrf --baseline default-0.1
    assay bench loso scifact nfcorpus cranfield --base default --vary fuse.weights.dense=0.5..2/4

    For every set, the system of the family that has the best mean over the other sets' dev splits is taken, and its
    score on this set's test split counts. So no set has a say in its own choice, which is the situation of a user with
    a corpus that nobody tuned on. Reported are the mean over sets, wins and losses against the baseline, sign flips and
    a sign test over sets, and every system's own means. With --runs an interrupted command continues.
    """
    from assay.bench.grid import build_sweep, choose_base
    from assay.bench.left_out import leave_one_set_out, run_family
    from assay.bench.receipt import write
    from assay.bench.systems import load_system, load_systems
    from assay.bench.workspace import IndexSettings
    from assay.cli.progress import progress_bars
    from assay.cli.terminal import escape_json
    from assay.cli.views.loso import show

    family = load_systems(split_names(names))
    if axes:
        sweep = build_sweep(load_system(base) if base else choose_base(axes), axes)
        family += [cell.system for cell in sweep.cells if cell.system.name not in {one.name for one in family}]
    if not family:
        raise click.UsageError("name a family: --systems A,B,… or --vary KEY=VALUES")
    first = load_system(baseline)
    systems = [first, *(one for one in family if one.name != first.name)]
    with progress_bars() as bar:
        settings = IndexSettings(embedder, language, profile)
        found = run_family(datasets, systems, (dev, test), settings, out=runs, metric=metric, progress=bar.step)
    receipt = leave_one_set_out(found, [one.name for one in family], first.name, metric, (dev, test))
    if out is not None:
        write(receipt, out)
    if as_data:
        click.echo(escape_json(receipt.dumps().rstrip()))
    else:
        show(receipt)
