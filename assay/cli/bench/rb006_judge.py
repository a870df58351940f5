"""`assay bench rb006 judge`: a language model judges contexts, and may answer from them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.cli.bench.rb006 import BASE_OPTION, SCALE_OPTION, SEED_OPTION, WORLD_OPTION

if TYPE_CHECKING:
    from assay.bench.rb006.world import Base


@click.command()
@click.argument("chat", metavar="URL#MODEL")
@WORLD_OPTION
@BASE_OPTION
@SCALE_OPTION
@SEED_OPTION
@click.option("--systems", default="flat-strong,race", show_default=True, metavar="NAMES", help="Comma-separated.")
@click.option("--rerank", default="late_interaction", show_default=True, metavar="NAME", help="As in `run`.")
@click.option("--budget", type=click.Choice(["200", "400", "800", "1200"]), default="400", show_default=True)
@click.option(
    "--queries", "count", type=click.IntRange(1), help="Ask so many feasible queries, evenly.  [default: all]"
)
@click.option("--generate", is_flag=True, help="Let the model answer from the contexts too: correctness, faithfulness.")
@click.option("--quick", is_flag=True, help="A tiny world.")
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write the result as JSON.")
def judge(
    chat: str,
    templates: str,
    base: Base,
    scale: str,
    seed: int | None,
    systems: str,
    rerank: str,
    budget: str,
    count: int | None,
    generate: bool,
    quick: bool,
    out: Path | None,
) -> None:
    """Let a language model judge whether contexts are enough, beside the mechanical measure. Never gated.

    The model is any OpenAI-compatible server (its key in $ASSAY_CHAT_KEY), asked three times at temperature 0; the
    majority counts, and answers are cached. Queries and contexts leave the machine. Contexts with and without the
    evidence are judged first: a judge who fails there is marked as not trusted.
    """
    from assay.bench.rb006.judge.answerability_judge import VERSION, measure_judge
    from assay.bench.rb006.judge.chat_votes import ChatVotes
    from assay.bench.rb006.runner.plan import QUICK_SCALES, RunSettings
    from assay.bench.rb006.runner.worlds import build_worlds, open_benches
    from assay.cli.bench.rb006 import SCALES
    from assay.cli.progress import progress_bars
    from assay.cli.terminal import format_json
    from assay.embed.chat import open_chat
    from assay.util.atomic_files import write_text

    votes = ChatVotes(open_chat(chat), VERSION)
    largest = QUICK_SCALES[list(SCALES).index(scale)] if quick else SCALES[scale]
    names = tuple(name.strip() for name in systems.split(",") if name.strip())
    settings = RunSettings(templates, base, seed, largest, names, rerank, quick=quick)
    chosen = settings.find_systems()
    with progress_bars() as bar:
        subject = build_worlds(settings, progress=bar.step).subjects[largest]
        feasible = subject.feasible
        size = min(count or len(feasible), len(feasible))
        queries = [feasible[place * len(feasible) // size] for place in range(size)]
        with open_benches(subject, settings, bar.step) as benches:
            found = measure_judge(
                benches.plain,
                chosen,
                votes,
                budget=int(budget),
                queries=queries,
                generate=generate,
                progress=bar.step,
            )
    votes.close()
    if out is not None:
        write_text(out, format_json({"model": votes.chat.model, **settings.describe(), **found}, indent=1) + "\n")
    trusted = found["controls"]["trusted"]
    word = click.style("trusted" if trusted else "not trusted", fg="green" if trusted else "red", bold=True)
    click.echo(
        f"judge {votes.chat.model}: {word}; of {found['controls']['asked']} controls it refused "
        f"{found['controls']['refused_evidence']} with the evidence and accepted "
        f"{found['controls']['accepted_nothing']} without it"
    )
    for name, one in found["systems"].items():
        shown = {key: "–" if one[key] is None else f"{one[key]:.3f}" for key in ("mechanical", "judge", "kappa")}
        click.echo(
            f"{name:20} A@{budget} {shown['mechanical']}, judge {shown['judge']}, kappa {shown['kappa']}, "
            f"{one['judged']} of {one['queries']} judged"
        )
        if generate:
            made = one["generation"]
            values = [f"{key} {'–' if made[key] is None else f'{made[key]:.3f}'}" for key in ("correct", "faithful")]
            click.echo(f"{'':20} {', '.join(values)} of {made['answers']} answers")
