"""Prints why a chunk has its rank, step by step, or why it is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from assay.cli.terminal import format_count, make_console, sanitize, supports_unicode
from assay.cli.views.answer import excerpt, format_score, heading, path_text
from assay.cli.views.footer import footer_lines
from assay.cli.views.layout import align_columns, flow_pieces, wrap
from assay.cli.views.routing import routing_lines
from assay.cli.views.waterfall import SIGNS, draw_bar, format_number, largest_addend, leg_colours, waterfall_pieces
from assay.engine.answer import ChunkStep, ScorePart

if TYPE_CHECKING:
    from assay.engine.explanation import Explanation

Colours = Mapping[str, str]


def show_explanation(explanation: Explanation, pipeline: str, *, plain: bool = False) -> None:
    """The chunk, its status, its way through the steps, its score as a waterfall, its evidence."""
    screen = make_console(plain=plain)
    for line in _lines(explanation, screen, bars=not plain and supports_unicode()):
        screen.print(line)
    for line in footer_lines(explanation.answer, pipeline, screen.width):
        screen.print(line)


def _lines(explanation: Explanation, screen: Console, *, bars: bool) -> Iterator[Text]:
    answer, chunk = explanation.answer, explanation.chunk
    colours = leg_colours(span.name for span in answer.trace if span.kind == "leg")
    if chunk is not None:
        yield heading(chunk, answer)
        yield Text(sanitize(f"{chunk.doc_id} · {chunk.id}"), "dim")
        yield from wrap(excerpt(chunk, answer, screen.width - 2), screen, 2)
        yield Text()
    results = format_count(len(answer), "result")
    if explanation.rank is None:
        yield Text(f"Not in the answer, which has {results}.", "bold yellow")
        for reason in explanation.reasons:
            yield from wrap(Text(f"• {sanitize(reason)}"), screen, 2)
    else:
        yield Text(
            f"Rank {explanation.rank} of {results}, score {format_score(answer[explanation.rank - 1].score)}.",
            "bold green",
        )
    if explanation.steps:
        yield Text("\nStep by step", "bold")
        yield from align_columns(
            [*_step_rows(explanation.steps, colours, screen.width, bars=bars)], right=(1, 2), indent=2
        )
    if routing := list(routing_lines(answer)):
        yield Text("\nThe way through the tree", "bold")
        for line in routing:
            yield from wrap(Text(sanitize(line)), screen, 4)
    if explanation.rank is not None:
        yield Text("\nThe score", "bold")
        hit = answer[explanation.rank - 1]
        yield from align_columns([*_parts(hit.waterfall, colours, bars=bars)], right=(1,), indent=2)
        for leg, colour in colours.items():
            if paths := hit.paths(leg, None):
                yield from wrap(path_text(leg, paths, colour), screen, 2)
    yield Text()


def _step_rows(steps: tuple[ChunkStep, ...], colours: Colours, width: int, *, bars: bool) -> Iterator[list[Text]]:
    """One row per step: the rank and score it gave the chunk, and from which parts; or why it is not there."""
    for step in steps:
        name = Text(sanitize(step.step), colours.get(step.step, ""))
        if step.rank is None or step.score is None:
            yield [name, Text("–", "dim"), Text(), Text(sanitize(step.why), "yellow")]
            continue
        own = dict.fromkeys((line.name for line in step.lines), colours.get(step.step, ""))
        parts = waterfall_pieces(step.lines, largest_addend([step.lines]), own, bars=bars)
        rows = flow_pieces(parts, max(width - 36, 24)) or [Text()]
        yield [name, Text(f"#{step.rank}"), Text(format_score(step.score), "bold"), rows[0]]
        for row in rows[1:]:
            yield [Text(), Text(), Text(), row]


def _parts(lines: tuple[ScorePart, ...], colours: Colours, *, bars: bool) -> Iterator[list[Text]]:
    """The final score, a row per part: how it acts, and the score after it."""
    most = largest_addend([lines])
    for line in lines:
        colour = colours.get(line.name, "")
        rank = f" #{line.rank}" if line.rank is not None else ""
        length = draw_bar(line.value, most) if bars and line.op == "add" else ""
        acts = Text(f"{SIGNS[line.op]} {format_number(line.value)}")
        yield [
            Text(f"{sanitize(line.name)}{rank}", colour),
            acts,
            Text(length, colour or "cyan"),
            Text(f"= {format_number(line.score)}"),
        ]
