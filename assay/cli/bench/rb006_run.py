"""`assay bench rb006 run`: measure systems stage by stage and judge the hypotheses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from assay.cli.bench.rb006 import BASE_OPTION, SCALES, SEED_OPTION, SIZE_OPTION, WORLD_OPTION
from assay.cli.options import json_option

if TYPE_CHECKING:
    from assay.bench.rb006.runner.run import BenchmarkRun
    from assay.bench.rb006.world import Base
    from assay.errors import AssayError

_COLOURS = {"GO": "green", "NO-GO": "yellow", "KILL": "red", "NOT MEASURED": "white"}


@click.command()
@WORLD_OPTION
@BASE_OPTION
@click.option(
    "--scale",
    type=click.Choice(list(SCALES)),
    default="50k",
    show_default=True,
    help="The largest corpus; smaller ones are measured too.",
)
@SEED_OPTION
@SIZE_OPTION
@click.option(
    "--systems",
    default="main",
    show_default=True,
    metavar="NAMES",
    help="Comma-separated; main, ablations and seeds stand for their systems.",
)
@click.option(
    "--rerank",
    default="late_interaction",
    show_default=True,
    metavar="NAME",
    help="The rerank stage of all systems that have one, or cross_encoder:FOLDER_OR_NAME.",
)
@click.option(
    "--lattice",
    default="",
    metavar="URL#MODEL",
    help="Measure LATTICE too, with this language model (key in $ASSAY_CHAT_KEY); queries and texts leave the machine.",
)
@click.option(
    "--public",
    default="",
    metavar="SETS",
    help="Also measure the flat baseline on scifact,nfcorpus from $ASSAY_DATA, beside published values.",
)
@click.option("--continue", "go_on", is_flag=True, help="Measure the stages after a kill too; the report marks them.")
@click.option(
    "--quick",
    is_flag=True,
    help="Tiny corpora and few queries; every stage and system unless --scale and --systems say less. The numbers mean "
    "nothing, and no kill line stops it.",
)
@click.option("--note", default="", metavar="TEXT", help="What changed since the last run; required on a frozen suite.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Records, receipt and report.  [default: rb006-WORLD-BASE]",
)
@json_option
@click.pass_context
def run(
    ctx: click.Context,
    templates: str,
    base: Base,
    scale: str,
    seed: int | None,
    size: str,
    systems: str,
    rerank: str,
    lattice: str,
    public: str,
    go_on: bool,
    quick: bool,
    note: str,
    out: Path | None,
    as_data: bool,
) -> None:
    """Measure hierarchy, token budgets and abstention, and say GO, NO-GO or KILL for each hypothesis.

    Stages run in the order in which they can stop the run: routing error on the dev slice, token curves at 10k and 50k,
    the race against its two paths, cross-links, then 200k. A stage whose kill line holds ends the run, unless
    --continue. Every few queries are written at once, so the same command goes on after an interruption; worlds,
    embeddings and pair scores are cached. The frozen world is for verdicts: tune on dev.

    \b
    assay bench rb006 run --quick
    assay bench rb006 run --scale 10k
    assay bench rb006 run --world frozen --scale 200k --continue --note "first run"
    """
    from assay.bench.rb006.frozen_suite import read_suite
    from assay.bench.rb006.report.files import write_report
    from assay.bench.rb006.report.summary import describe_troubles
    from assay.bench.rb006.run_receipt import make_receipt
    from assay.bench.rb006.runner.plan import QUICK_SCALES, RunSettings
    from assay.bench.rb006.runner.run import run_benchmark
    from assay.cli.progress import progress_bars
    from assay.cli.terminal import format_json, sanitize
    from assay.errors import ConfigError

    if read_suite(templates) is not None and not quick and not note.strip():
        raise ConfigError(
            "a run on a frozen suite is a verdict, and every one of them is listed with what changed",
            'say it: --note "first run"; or tune on --world dev',
        )
    if quick:
        scale = scale if _is_given(ctx, "scale") else "200k"
        systems = systems if _is_given(ctx, "systems") else "main,ablations,seeds"
    settings = RunSettings(
        templates=templates,
        base=base,
        seed=seed,
        largest=QUICK_SCALES[list(SCALES).index(scale)] if quick else SCALES[scale],
        systems=_split(systems),
        rerank=rerank,
        lattice=lattice,
        public=_split(public),
        quick=quick,
        queries=int(size),
    )
    folder = out or Path(f"rb006-{templates}-{base}" + ("-quick" if quick else ""))
    with progress_bars() as bar:
        done = run_benchmark(settings, folder, go_on=go_on or quick, progress=bar.step)
        bar.wait("testing and writing the report")
        receipt = make_receipt(done, note)
        files = write_report(receipt, folder)
    for trouble in describe_troubles(receipt):
        click.echo(f"warning: {sanitize(trouble)}", err=True)
    if as_data:
        click.echo(format_json({**receipt.canonical, "digest": receipt.digest}, indent=2))
        return
    _show(done)
    click.echo(f"report: {files[1]}, receipt {receipt.digest[:16]}")


def _is_given(ctx: click.Context, option: str) -> bool:
    return ctx.get_parameter_source(option) is not ParameterSource.DEFAULT


def _split(names: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in names.split(",") if name.strip())


def _show(done: BenchmarkRun) -> None:
    for outcome in done.stages:
        held = f": {'; '.join(outcome.killed_by)}" if outcome.killed_by else ""
        click.echo(f"{outcome.state:13} {outcome.stage.title}{held}")
    if done.stopped:
        click.echo(
            "              stopped at a kill line; the same command with --continue measures the rest, marked so"
        )
    for verdict in done.settings.thresholds.judge(done.values):
        word = click.style(f"{verdict.outcome:13}", fg=_COLOURS[verdict.outcome], bold=True)
        click.echo(f"{word} {verdict.hypothesis.name}: {verdict.hypothesis.title}")
        for line in verdict.go:
            seen = "not measured" if line.observed is None else f"{line.observed:.3f}"
            click.echo(f"  {line.verdict:12} {seen:>12} {line.line.op} {line.line.threshold:g}  {line.line.says}")


@click.command()
@click.argument("receipt", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), default=Path(), metavar="DIR", help="Where to write it.")
def report(receipt: Path, out: Path) -> None:
    """Write the report of a receipt again: report.html and report.md."""
    from assay.bench.rb006.report.files import read_receipt, render_report

    for path in render_report(read_receipt(receipt), out):
        click.echo(path)


@click.command()
@click.argument("receipt", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Where the records go; a new folder.")
def replay(receipt: Path, out: Path | None) -> None:
    """Run a receipt again from what it says, and compare digests.

    Exits with 0 when the digest is the same, with 1 when it is not: the first differences are named.
    """
    from assay.bench.rb006.replay import replay_run
    from assay.bench.rb006.report.files import read_receipt
    from assay.cli.progress import progress_bars

    with progress_bars() as bar:
        differences = replay_run(read_receipt(receipt), out, bar.step)
    if not differences:
        click.echo(f"{click.style('same', fg='green', bold=True)} {receipt}")
        return
    click.echo(f"{click.style('differs', fg='red', bold=True)} {receipt}")
    for line in differences:
        click.echo(f"  {line}")
    raise click.exceptions.Exit(1)


@click.command()
@click.argument("places", nargs=-1, type=click.Path(path_type=Path, exists=True), metavar="[PATH]...")
@json_option
def runs(places: tuple[Path, ...], as_data: bool) -> None:
    """List runs by their receipts, oldest first: date, world, verdicts, and what changed.

    A PATH is a receipt or a folder with receipts (default: this one). The first run on a frozen suite at the declared
    scale is the verdict of record; later ones are listed beside it.

    \b
    assay bench rb006 runs receipts/rb006
    """
    from assay.bench.rb006.run_list import list_runs
    from assay.cli.terminal import format_json, sanitize

    def warn(error: AssayError) -> None:
        click.echo(f"warning: {sanitize(error.message)}", err=True)

    found = list_runs(places or (Path(),), warn)
    if as_data:
        click.echo(format_json([run.to_json() for run in found], indent=2))
        return
    if not found:
        click.echo("no receipts of `assay bench rb006 run` here")
    for run in found:
        sizes = ", ".join(f"{scale:,}" for scale in run.scales)
        click.echo(f"{run.clock[:16]}  {run.world}, {run.base}, {sizes} chunks, {run.rerank}: {run.standing}")
        words = [f"{name} {click.style(word, fg=_COLOURS[word], bold=True)}" for name, word in run.verdicts.items()]
        click.echo(f"  {'  '.join(words)}")
        click.echo(f"  {run.note or 'no note'}  [{run.digest[:12]}] {run.path}")
