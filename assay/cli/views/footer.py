"""How an answer came about: its verdict, what could not run and the cure, the steps with their times."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from assay.backend.contract import store_snapshot
from assay.cli.terminal import count, safe
from assay.cli.views.layout import flow
from assay.engine.answer import Answer, Span
from assay.engine.foreign_chunks import base_snapshot

_VERDICTS = {"answered": "bold green", "nothing found": "bold"}


def footer(answer: Answer, pipeline: str, width: int) -> list[Text]:
    """Warnings first, then one line of facts and one of steps."""
    told = [*warnings(answer), *remarks(answer), *_facts(answer, pipeline, width), *flow(steps(answer), width)]
    return [*told, *flow(contributions(answer), width, " · ")]


def warnings(answer: Answer) -> Iterator[Text]:
    """What could not run as planned, each with its cure on its own line."""
    for line in answer.verdict.degraded:
        what, _, cure = line.partition("; cure: ")
        yield Text.assemble(("! ", "bold yellow"), (safe(what), "yellow"))
        if cure:
            yield Text.assemble(("  cure: ", "green"), safe(cure))


def remarks(answer: Answer) -> Iterator[Text]:
    for remark in answer.remarks:
        yield Text.assemble(("note: ", "yellow"), safe(remark))
    yield from (Text(safe(line), "dim") for line in answer.told())


def _facts(answer: Answer, pipeline: str, width: int) -> list[Text]:
    view = base_snapshot(answer.snapshot)
    found = answer.verdict.found
    pool = max((len(span.gave) for span in answer.trace), default=0)
    known = store_snapshot(view)
    version = f"v{known.version}" if known else view.digest[:8]
    facts = [
        Text(answer.verdict.word, _VERDICTS.get(answer.verdict.word, "bold yellow")),
        Text(f"{found} of {count(pool, 'candidate')} from {count(view.size, 'chunk')}"),
        Text(f"{safe(pipeline)} {answer.digests['pipeline'][:8]}", "dim"),
        Text(version, "dim"),
        Text(_time(answer.ms), "dim"),
    ]
    return flow(facts, width, " · ")


def contributions(answer: Answer) -> list[Text]:
    """`of these 10 bm25 found 9, 2 of them alone · dense 8, 1 · …`: what each of many legs is good for here."""
    legs = [one for one in answer.contributions() if one.found]
    if len(legs) < 3 or not len(answer):
        return []
    first, *others = (f"{safe(one.leg)} found {one.chosen}{_alone(one.alone)}" for one in legs)
    return [Text(f"of {'this one' if len(answer) == 1 else f'these {len(answer)}'} {first}", "dim")] + [
        Text(other, "dim") for other in others
    ]


def _alone(number: int) -> str:
    return f", {number} alone" if number else ""


def steps(answer: Answer) -> list[Text]:
    """`embed 2.6 ms → bm25 37 in .4 ms → …`; a skipped step is yellow, one that was not wanted is dim."""
    shown = [_step(span) for span in answer.trace]
    return [shown[0], *(Text.assemble(("→ ", "dim"), step) for step in shown[1:])] if shown else []


def _step(span: Span) -> Text:
    if span.skipped:
        planned = span.skipped.startswith("not triggered")
        return Text(f"{safe(span.name)} {'not triggered' if planned else 'skipped'}", "dim" if planned else "yellow")
    gave = "" if span.kind == "embed" else f" {len(span.gave):,} in"
    return Text(f"{safe(span.name)}{gave} {_time(span.ms)}", "dim")


def _time(ms: float) -> str:
    return f"{ms:.1f} ms" if ms < 100 else f"{ms:,.0f} ms"
