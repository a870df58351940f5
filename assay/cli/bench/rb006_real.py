"""`assay bench rb006 real`: the measures of the hierarchy benchmark on real questions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


@click.command()
@click.argument("sets", nargs=-1, metavar="[SET]...")
@click.option("--split", type=click.Choice(["dev", "test"]), default="test", show_default=True)
@click.option("--queries", "most", type=click.IntRange(1), default=100, show_default=True, help="Per set, by hash.")
@click.option("--systems", metavar="NAMES", help="Comma-separated.  [default: baselines, the paths and the race]")
@click.option("--rerank", default="late_interaction", show_default=True, metavar="NAME", help="As in `run`.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("rb006-real"), show_default=True, metavar="DIR")
def real(sets: tuple[str, ...], split: str, most: int, systems: str | None, rerank: str, out: Path) -> None:
    """Measure systems on real questions with real gold: hotpotqa, qed, beam and others from $ASSAY_DATA.

    A, ER, EP and answer-in-context by token budget, routing errors, and how often the detector refuses questions with
    and without an answer. Nothing here is gated. Records are kept in --out: an interrupted run goes on.

    \b
    assay bench rb006 real
    assay bench rb006 real hotpotqa qed --queries 50
    """
    from assay.bench.rb006.real_questions import DEFAULT_SYSTEMS, find_sets, measure_real
    from assay.bench.rb006.systems import find_systems
    from assay.cli.progress import progress_bars
    from assay.cli.terminal import format_json
    from assay.util.atomic_files import write_text

    chosen = find_sets(sets)
    names = DEFAULT_SYSTEMS if systems is None else tuple(name.strip() for name in systems.split(",") if name.strip())
    asked = find_systems(names, rerank=rerank)
    out.mkdir(parents=True, exist_ok=True)
    for one in chosen:
        with progress_bars() as bar:
            found = measure_real(one, out, systems=asked, split=split, most=most, progress=bar.step)
        write_text(out / f"{one.name}-{split}.json", format_json({**found, "rerank": rerank}, indent=1) + "\n")
        _show(found)


def _show(found: dict[str, Any]) -> None:
    said = found["detector"]
    click.echo(
        f"{found['name']}: {found['questions']} questions over {found['chunks']:,} chunks ({found['gold']}); refused "
        f"{said['false_refusals']} of them"
        + (
            f", and {said['recall']:.2f} of {found['without_answer']} without an answer"
            if said["recall"] is not None
            else ""
        )
    )
    for name, one in found["systems"].items():
        values = [f"A@{budget} {one['A'][budget]:.3f}" for budget in ("200", "400", "800", "pool")]
        inside = one["AIC"]["400"]
        test = found["against_flat"].get(name)
        shown = f"  Δ {test['difference']:+.3f} p {test['p']:.3f}" if test and name != "flat-strong" else ""
        click.echo(
            f"  {name:18} {'  '.join(values)}" + (f"  AIC@400 {inside:.3f}" if inside is not None else "") + shown
        )
