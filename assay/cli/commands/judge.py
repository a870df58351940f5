"""`assay judge`: label results by keyboard; makes a dataset."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console

    from assay.bench.judge.session import JudgingSession
    from assay.text.analyser import Analyser


@click.command()
@click.argument("store", type=click.Path(path_type=Path))
@click.option(
    "--queries", type=click.Path(path_type=Path), required=True, metavar="FILE", help="A query log, one per line."
)
@click.option(
    "--pipeline",
    "names",
    default="default,bm25,dense",
    show_default=True,
    metavar="A,B,…",
    help="Pool the results of these presets or TOML files.",
)
@click.option("--depth", type=click.IntRange(1), default=10, show_default=True, help="So many results of each.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("judgements"), show_default=True, metavar="DIR")
@click.option("--judge", "name", default="me", show_default=True, metavar="NAME", help="Who judges.")
@click.option("--seed", default=0, show_default=True, help="Of the order in which documents are shown.")
def judge(store: str, queries: Path, names: str, depth: int, out: Path, name: str, seed: int) -> None:
    """Judge by keyboard what pipelines find; makes a dataset.

    \b
    assay judge ./kb --queries log.jsonl --out my-judgements
    assay bench run my-judgements --systems bm25,dense,default --split all

    Shows one document at a time, by the chunk that was found best, in a shuffled order that tells neither who found
    it nor where. Keys: 0 to 3 grade it (n is 0, y is 1), s skips, u takes back, t shows the whole text, q ends. Every
    key is on the disk before the next document shows, in judgements.jsonl; the same command goes on where it ended.
    With another --judge a second person grades the same items, and the agreement is told.

    Without a terminal, keys are read from standard input, one per line.
    """
    from datetime import UTC, datetime

    from assay.bench.collection import from_store
    from assay.bench.judge.agreement import compute_agreements
    from assay.bench.judge.judgement_writer import LEDGER, check_folder, write_judgements
    from assay.bench.judge.ledger import Ledger, graded_entries
    from assay.bench.judge.pool import build_pool
    from assay.bench.judge.session import JudgingSession
    from assay.bench.query_log import read_log
    from assay.cli.options import open_store, split_names
    from assay.cli.progress import progress_bars
    from assay.cli.terminal import make_console, sanitize
    from assay.cli.views.judge import show_end
    from assay.errors import ConfigError

    judge_name = " ".join(name.split())
    if not judge_name:
        raise ConfigError("--judge is empty", "give a name: --judge ada")
    log = read_log(queries)
    check_folder(out)
    ledger = Ledger.open(out / LEDGER)
    for line in (*log.skipped, *(f"{torn}: not a judgement; passed over" for torn in ledger.torn)):
        click.echo(f"{click.style('left out', fg='yellow')}  {sanitize(line)}", err=True)
    screen = make_console()
    with open_store(store) as base:
        pipelines = [base.pipeline(pipeline) for pipeline in split_names(names)]
        if not pipelines:
            raise ConfigError("--pipeline names none", "give some: --pipeline default,bm25")
        with progress_bars() as bar:
            pools = []
            for place, query in enumerate(log.queries):
                pools.append(build_pool(base, pipelines, query, depth, seed))
                bar.step("pooling", place + 1, len(log.queries))
        for message in dict.fromkeys(message for pooled in pools for message in pooled.degraded):
            click.echo(f"{click.style('!', fg='yellow')} {sanitize(message)}", err=True)
        items = [item for pooled in pools for item in pooled.items]
        session = JudgingSession(ledger, judge_name, items, lambda: datetime.now(UTC).isoformat(timespec="seconds"))
        _judge_items(session, base.backend.snapshot().analyser, screen)
        written = None
        if any(graded_entries(ledger)):
            written = write_judgements(ledger, from_store(base), out, Path(store).resolve().name)
    following = f"assay bench run {shlex.quote(str(out))} --systems bm25,dense,default --split all"
    show_end(written, compute_agreements(ledger), session, screen, following)


def _judge_items(session: JudgingSession, analyser: Analyser, screen: Console) -> None:
    """Show, wait for a key, do it; until everything is judged or somebody has had enough."""
    from assay.cli.commands.judge_keys import keys
    from assay.cli.terminal import sanitize
    from assay.cli.views.judge import MESSAGES, show_item

    if session.item is None:
        screen.print("Nothing is open: you have judged everything in this pool.")
        return
    with keys() as presses:
        show_item(session, analyser, screen)
        for key in presses:
            action = session.press(key)
            if action == "quit":
                return
            if action in MESSAGES:
                screen.print(MESSAGES[action].format(key=sanitize(key)))
            elif not show_item(session, analyser, screen, whole=action == "more"):
                screen.print("That was the last one.")
                return
