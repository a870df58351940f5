"""`assay bench rb006`: the worlds of the hierarchy benchmark, and its runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.cli.failures import CommandGroup
from assay.cli.options import json_option

if TYPE_CHECKING:
    from assay.bench.rb006.frozen_suite import FrozenSuite
    from assay.bench.rb006.verification import Judgement
    from assay.bench.rb006.world import Base, World
    from assay.bench.rb006.world.queries import WorldQuery
    from assay.types import Progress

RB006_COMMANDS: Mapping[str, str] = {
    "build": "assay.cli.bench.rb006:build",
    "run": "assay.cli.bench.rb006_run:run",
    "report": "assay.cli.bench.rb006_run:report",
    "judge": "assay.cli.bench.rb006_judge:judge",
    "real": "assay.cli.bench.rb006_real:real",
    "public": "assay.cli.bench.rb006_public:public",
    "replay": "assay.cli.bench.rb006_run:replay",
    "runs": "assay.cli.bench.rb006_run:runs",
    "sample": "assay.cli.bench.rb006:sample",
    "freeze": "assay.cli.bench.rb006_freeze:freeze",
}
SCALES = {"10k": 10_000, "50k": 50_000, "200k": 200_000}


@click.group(cls=CommandGroup, table=RB006_COMMANDS)
def rb006() -> None:
    """Is a hierarchy worth it? GO, NO-GO or KILL on a simulated organisation, with budgets of tokens and abstention.

    \b
    assay bench rb006 run --quick                every part in a minute; numbers that mean nothing
    assay bench rb006 run --scale 10k            measure and judge on the dev world
    assay bench rb006 build --scale 10k          the world as a dataset
    assay bench rb006 sample --world frozen      queries with their gold
    """


WORLD_OPTION = click.option(
    "--world", "templates", default="dev", show_default=True, help="dev for tuning, frozen for the verdict."
)
SCALE_OPTION = click.option(
    "--scale", type=click.Choice(list(SCALES)), default="10k", show_default=True, help="Chunks."
)
SIZE_OPTION = click.option(
    "--queries",
    "size",
    type=click.Choice(["300", "500"]),
    default="300",
    show_default=True,
    help="Of the suite; 500 has every stratum times 5/3. The frozen suite has 300.",
)
SEED_OPTION = click.option(
    "--seed",
    type=int,
    help="Another seed simulates another organisation.  [default: the seed of the frozen suite, else 6]",
)
BASE_OPTION = click.option(
    "--base",
    type=click.Choice(["simulated", "real"]),
    default="simulated",
    show_default=True,
    help="real: handbook, mail, changelog and proposal text from $ASSAY_DATA around the documents that queries need.",
)
_DEFAULT_SEED = 6
SUITE_SIZE = 300


@click.command()
@WORLD_OPTION
@SCALE_OPTION
@SEED_OPTION
@BASE_OPTION
@SIZE_OPTION
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The dataset.  [default: WORLD-SCALE, and whatever else was asked for: dev-10k-seed7-real]",
)
@json_option
def build(templates: str, scale: str, seed: int | None, base: Base, size: str, out: Path | None, as_data: bool) -> None:
    """Write a simulated organisation as a dataset: documents, queries, and the sentences that answer them.

    Facts come from a state machine over 24 months, and the text is a rendering of them, so the answer to every query is
    known to the sentence. A larger scale contains the smaller ones unchanged; the same seed gives the same bytes. In
    the dev world, the split `dev` has the query templates for tuning, `test` the others. The frozen world has a suite
    that was fixed before any retriever ran on it, with 60 hand-written queries; only `test` exists, and nothing may be
    tuned on it.
    """
    from assay.bench.rb006.frozen_suite import read_suite
    from assay.bench.rb006.world import verify, write_world
    from assay.cli.progress import progress_bars
    from assay.cli.terminal import format_json
    from assay.errors import AssayError

    folder = out or _name_folder(templates, scale, seed, base, int(size))
    with progress_bars() as bar:
        world = _build(templates, SCALES[scale], seed, bar.step, base, int(size))
        faults = verify(world, corpus=False)
        if faults:
            raise AssayError(f"the world breaks {len(faults)} of its rules, first: {faults[0]}", "take another --seed")
        meta = write_world(world, folder, progress=bar.step)
    if as_data:
        click.echo(format_json({**meta, "folder": str(folder)}, indent=2))
        return
    click.echo(f"{world.scale:,} chunks and {len(world.queries)} queries in {folder}, {meta['in_scope']} in scope")
    impossible = sum(meta["impossible"].values())
    click.echo(f"at 400      feasible {len(world.queries) - impossible}, impossible {impossible}")
    click.echo(f"tags        {_counts(meta['tags'])}")
    click.echo(f"impossible  {_counts(meta['impossible'])}")
    click.echo(f"sources     {_counts(dict(sorted(Counter(query.source for query in world.queries).items())))}")
    if (suite := read_suite(templates)) is not None:
        click.echo(f"suite       {_describe_suite(suite, _is_frozen(suite, seed, int(size)))}")
    split = "dev" if any(query.template_split == "tuning" for query in world.queries) else "test"
    click.echo(f"next: assay bench run {folder} --split {split} --systems bm25,default")


def _name_folder(templates: str, scale: str, seed: int | None, base: Base, size: int) -> Path:
    """Every world has a folder of its own: a build replaces the folder of the same name."""
    parts = [templates, scale]
    parts += [] if seed is None else [f"seed{seed}"]
    parts += [] if size == SUITE_SIZE else [f"{size}-queries"]
    parts += [] if base == "simulated" else [base]
    return Path("-".join(parts))


@click.command()
@WORLD_OPTION
@SCALE_OPTION
@SEED_OPTION
@click.option("--queries", "count", type=click.IntRange(1), default=10, show_default=True, help="How many to print.")
@click.option("--by", default="", metavar="NAME", help="Ask after each query whether the gold is right, and record it.")
@click.option(
    "--ledger",
    type=click.Path(path_type=Path),
    default=Path("rb006-verified.jsonl"),
    show_default=True,
    metavar="FILE",
    help="Who verified what.",
)
def sample(templates: str, scale: str, seed: int | None, count: int, by: str, ledger: Path) -> None:
    """Print queries with the sentences that answer them, for a person to verify.

    With --by, each judgement is written to the ledger at once; queries that this person has judged as they are now are
    not shown again.
    """
    from datetime import UTC, datetime

    from assay.bench.rb006.verification import (
        Verification,
        append_entry,
        digest_shown,
        list_open,
        read_ledger,
        summarise_ledger,
    )
    from assay.cli.progress import progress_bars

    entries = read_ledger(ledger)
    with progress_bars() as bar:
        world = _build(templates, SCALES[scale], seed, bar.step)
    scoped = [query for query in world.queries if world.is_in_scope(query)]
    left = list_open(scoped, entries, by) if by else scoped
    for query in left[:: max(1, len(left) // count)][:count]:
        _show_query(query)
        if not by:
            continue
        said = click.prompt("      right?", type=click.Choice(["right", "wrong", "skip"]), default="right")
        if said != "skip":
            judgement: Judgement = "right" if said == "right" else "wrong"
            note = click.prompt("      why", default="") if said == "wrong" else ""
            today = datetime.now(UTC).date().isoformat()
            append_entry(ledger, Verification(query.id, digest_shown(query), by, judgement, today, note))
    if by or entries:
        found = summarise_ledger(scoped, read_ledger(ledger))
        people = ", ".join(f"{name} {number}" for name, number in found["by"].items()) or "nobody"
        click.echo(
            f"{found['verified']} of {found['queries']} queries verified ({people}), "
            f"{len(found['wrong'])} called wrong: {ledger}"
        )


def _show_query(query: WorldQuery) -> None:
    kind = f"impossible: {query.kind}" if query.kind else "answerable"
    click.echo(f"{query.id}  {query.text}\n      {kind} · {', '.join(query.tags)} · {query.template_split}")
    for group in query.groups[:6]:
        click.echo(f"      hop {group.hop}  {group.sentences[0].text}  [{group.sentences[0].chunk_id}]")
    if len(query.groups) > 6:
        click.echo(f"      and {len(query.groups) - 6} more facts, {query.evidence_tokens} tokens in all")


def _build(
    templates: str, scale: int, seed: int | None, progress: Progress, base: Base = "simulated", size: int = 300
) -> World:
    """Build a world: with its frozen suite where it has one and no other seed is asked for."""
    from assay.bench.rb006.frozen_suite import build_suite_world, read_suite
    from assay.bench.rb006.world import build_world

    suite = read_suite(templates)
    if suite is not None and _is_frozen(suite, seed, size):
        return build_suite_world(suite, scale, base=base, progress=progress)
    seed = _DEFAULT_SEED if seed is None else seed
    return build_world(seed, templates, scale, base=base, queries=size, progress=progress)


def _is_frozen(suite: FrozenSuite, seed: int | None, size: int) -> bool:
    """Whether a seed and a number of queries are those that the suite was frozen with."""
    return seed in (None, suite.seed) and size == SUITE_SIZE


def _describe_suite(suite: FrozenSuite, is_frozen: bool) -> str:
    if is_frozen:
        return f"the frozen suite, digest {suite.sha256[:12]}, checked"
    return f"not the frozen suite (seed {suite.seed}, {SUITE_SIZE} queries): no hand-written queries, no digest"


def _counts(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {number}" for name, number in numbers.items())
