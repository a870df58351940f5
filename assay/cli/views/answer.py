"""Prints an answer: results with excerpts and the parts of their scores, then the footer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from rich.console import Console
from rich.text import Text

from assay.cli.terminal import format_date, make_console, sanitize, sanitize_piece, supports_unicode
from assay.cli.views.context import context_lines
from assay.cli.views.footer import footer_lines
from assay.cli.views.layout import flow_pieces, spread_ends, wrap
from assay.cli.views.no_results import explain_empty
from assay.cli.views.waterfall import largest_addend, leg_colours, waterfall_pieces
from assay.engine.answer import Answer, Hit
from assay.types import Chunk, Excerpt
from assay.upkeep.origin_paths import Origin

INDENT = 4
EXCERPT_LINES = 3
_PAGE = re.compile(r"page \d+")


def show_answer(answer: Answer, pipeline: str, origin: Callable[[Chunk], Origin], *, plain: bool = False) -> None:
    """Print the whole answer; `origin` names the file of each chunk."""
    screen = make_console(plain=plain)
    bars = not plain and supports_unicode()
    most = largest_addend(hit.waterfall for hit in answer)
    colours = leg_colours(span.name for span in answer.trace if span.kind == "leg")
    for hit in answer:
        for line in _lines(hit, origin(hit.chunk), screen, most, colours, bars=bars):
            screen.print(line)
        screen.print()
    for line in () if len(answer) else explain_empty(answer):
        screen.print(line)
    for line in () if answer.context is None else context_lines(answer.context, screen):
        screen.print(line)
    for line in footer_lines(answer, pipeline, screen.width):
        screen.print(line)


def _lines(
    hit: Hit, origin: Origin, screen: Console, most: float, colours: dict[str, str], *, bars: bool
) -> Iterator[Text]:
    """Rank, heading, date and id; the file; the score and its parts; the graph paths; the excerpt."""
    left = Text.assemble((f"{hit.rank:>{INDENT - 1}} ", "bold cyan"), heading(hit.chunk, hit.answer))
    yield from spread_ends(left, _date_and_id(hit), screen.width)
    if source := source_text(hit.chunk, origin):
        yield from wrap(source, screen, INDENT)
    score = format_score(hit.score)
    start = INDENT + len(score) + 2
    parts = flow_pieces(waterfall_pieces(hit.waterfall, most, colours, bars=bars), screen.width - start)
    for number, line in enumerate(parts):
        first = Text.assemble(" " * INDENT, (score, "bold"), "  ")
        yield (Text(" " * start) if number else first).append_text(line)
    for leg, colour in colours.items():
        if paths := hit.paths(leg):
            yield from wrap(path_text(leg, paths, colour), screen, INDENT)
    yield from wrap(excerpt(hit.chunk, hit.answer, screen.width - INDENT), screen, INDENT)


def source_text(chunk: Chunk, origin: Origin) -> Text:
    """`handbook/keys.md`, with the page of a PDF or the message, row or attachment; nothing where the heading says
    it."""
    if not chunk.title and chunk.doc_id == origin.name:
        return Text()
    page = chunk.section if _PAGE.fullmatch(chunk.section) else ""
    return Text(sanitize(", ".join(part for part in (origin.name, origin.part, page) if part)), "green")


def path_text(leg: str, paths: Sequence[str], colour: str) -> Text:
    """The paths by which a leg reached a chunk: `graph over Anna Bell, link docs/keys`."""
    return Text.assemble((sanitize(leg), colour), (f" over {sanitize(', '.join(paths))}", "dim"))


def heading(chunk: Chunk, answer: Answer) -> Text:
    """Title › section › subsection, with the query's terms marked: headings are searched too."""
    text = Text()
    for step in (chunk.title or chunk.doc_id, *(step for step in chunk.section.split(" > ") if step)):
        line = sanitize(step)
        text.append(" › " if text else "", "dim")
        text.append_text(mark_terms(answer.excerpt(line, len(line)), "" if text else "bold"))
    return text


def _date_and_id(hit: Hit) -> Text:
    """When it was created, and the shortest beginning of its id that names no other chunk."""
    date = format_date(hit.chunk.created)
    return Text.assemble((f"{date} · " if date else "", "dim"), (sanitize(hit.answer.short_id(hit.id)), "cyan"))


def format_score(score: float) -> str:
    return f"{score:.4f}" if abs(score) < 10 else f"{score:.2f}"


def excerpt(chunk: Chunk, answer: Answer, width: int) -> Text:
    """The part of a chunk that shows why it was found, with the query's terms marked."""
    passage = answer.excerpt(chunk.text, EXCERPT_LINES * width - width // 3)
    text = Text.assemble(("… " if passage.cut_before else "", "dim"), mark_terms(passage, ""))
    text.rstrip()
    return text.append(" …" if passage.cut_after else "", "dim")


def mark_terms(excerpt: Excerpt, style: str) -> Text:
    """The text of an excerpt with the query's terms highlighted."""
    text = Text()
    at = 0
    for start, end in excerpt.marks:
        text.append(sanitize_piece(excerpt.text[at:start]), style).append(
            sanitize_piece(excerpt.text[start:end]), "bold yellow"
        )
        at = end
    return text.append(sanitize_piece(excerpt.text[at:]), style)
