"""The lines below an answer: what could not run and the cure, the status, the steps with their times."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from assay.cli.terminal import format_count, sanitize
from assay.cli.views.layout import flow_pieces
from assay.engine.answer import Answer, Span

_STATUS_STYLES = {"answered": "bold green", "nothing found": "bold", "abstained": "bold"}


def footer_lines(answer: Answer, pipeline: str, width: int) -> list[Text]:
    """Warnings first, then one line of facts and one of steps."""
    impossible = list(impossible_lines(answer))  # first: a judge that fails is one of the warnings
    lines = [
        *warning_lines(answer),
        *remark_lines(answer),
        *impossible,
        *_facts(answer, pipeline, width),
        *flow_pieces(step_texts(answer), width),
    ]
    return [*lines, *flow_pieces(contribution_texts(answer), width, " · ")]


def warning_lines(answer: Answer) -> Iterator[Text]:
    """What could not run as planned, each with its cure on its own line."""
    for note in (problem.as_note() for problem in answer.status.problems):
        yield Text.assemble(("! ", "bold yellow"), (sanitize(note.text), "yellow"))
        if note.cure:
            yield Text.assemble(("  cure: ", "green"), sanitize(note.cure))


def remark_lines(answer: Answer) -> Iterator[Text]:
    for remark in answer.remarks:
        yield Text.assemble(("note: ", "yellow"), sanitize(remark))
    withheld = "abstain: " if answer.status.abstained else None  # said by impossible_lines
    lines = (line for line in answer.messages() if withheld is None or not line.startswith(withheld))
    yield from (Text(sanitize(line), "dim") for line in lines)


def impossible_lines(answer: Answer) -> Iterator[Text]:
    """Why the question cannot be answered, when it cannot: `impossible (listing): about 140 chunks match; …`."""
    judged = answer.answerability
    if judged is not None and not judged.answerable:
        kind = str(judged.kind).replace("_", " ")
        yield Text.assemble((f"impossible ({kind}): ", "bold yellow"), (sanitize(judged.why), "yellow"))


def _facts(answer: Answer, pipeline: str, width: int) -> list[Text]:
    pool = max((len(span.ranking) for span in answer.trace), default=0)
    version = answer.digests["snapshot"][:8] if answer.version is None else f"v{answer.version}"
    facts = [
        Text(answer.status.word, _STATUS_STYLES.get(answer.status.word, "bold yellow")),
        Text(
            f"{answer.status.found} of {format_count(pool, 'candidate')} from {format_count(answer.searched, 'chunk')}"
        ),
        Text(f"{sanitize(pipeline)} {answer.digests['pipeline'][:8]}", "dim"),
        Text(version, "dim"),
        Text(_time(answer.ms), "dim"),
    ]
    return flow_pieces(facts, width, " · ")


def contribution_texts(answer: Answer) -> list[Text]:
    """`of these 10 bm25 found 9, 2 of them alone · dense 8, 1 · …`: what each of three legs or more found."""
    legs = [leg for leg in answer.contributions() if leg.found]
    if len(legs) < 3 or not len(answer):
        return []
    first, *others = (f"{sanitize(leg.leg)} found {leg.chosen}{_alone(leg.alone)}" for leg in legs)
    return [Text(f"of {'this result' if len(answer) == 1 else f'these {len(answer)}'} {first}", "dim")] + [
        Text(other, "dim") for other in others
    ]


def _alone(number: int) -> str:
    return f", {number} alone" if number else ""


def step_texts(answer: Answer) -> list[Text]:
    """`embed 2.6 ms → bm25 37 in .4 ms → …`; a skipped step is yellow, one whose trigger did not fire is dim."""
    texts = [_step(span) for span in answer.trace]
    return [texts[0], *(Text.assemble(("→ ", "dim"), text) for text in texts[1:])] if texts else []


def _step(span: Span) -> Text:
    if span.skipped:
        planned = span.outcome == "not_triggered"
        return Text(
            f"{sanitize(span.name)} {'not triggered' if planned else 'skipped'}", "dim" if planned else "yellow"
        )
    candidates = "" if span.kind in ("embed", "pack") else f" {len(span.ranking):,} in"
    return Text(f"{sanitize(span.name)}{candidates} {_time(span.ms)}", "dim")


def _time(ms: float) -> str:
    return f"{ms:.1f} ms" if ms < 100 else f"{ms:,.0f} ms"
