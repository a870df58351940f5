"""An answer in a terminal: results with their evidence and the parts of their scores, then how it came about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from assay.backend.contract import store_snapshot
from assay.cli.terminal import console, day, safe, safe_piece, speaks_unicode
from assay.cli.views.footer import footer
from assay.cli.views.layout import ends, flow, wrapped
from assay.cli.views.no_results import nothing_found
from assay.cli.views.waterfall import largest, tints, waterfall
from assay.engine.answer import Answer, Hit
from assay.engine.foreign_chunks import base_snapshot
from assay.text.analyse import Analyser
from assay.text.highlight import Excerpt, evidence
from assay.types import Chunk

INDENT = 4
EXCERPT_LINES = 3
SHORTEST_ID = 8


def show_answer(answer: Answer, pipeline: str, *, plain: bool = False) -> None:
    """Print the whole answer."""
    screen = console(plain=plain)
    bars = not plain and speaks_unicode()
    most = largest(hit.waterfall for hit in answer)
    colours = tints(span.name for span in answer.trace if span.kind == "leg")
    for hit in answer:
        for line in _lines(hit, screen, most, colours, bars=bars):
            screen.print(line)
        screen.print()
    for line in () if len(answer) else nothing_found(answer):
        screen.print(line)
    for line in footer(answer, pipeline, screen.width):
        screen.print(line)


def _lines(hit: Hit, screen: Console, most: float, colours: dict[str, str], *, bars: bool) -> Iterator[Text]:
    """Rank, place, date and id; the score and its parts; the ways it was come by; the evidence."""
    left = Text.assemble((f"{hit.rank:>{INDENT - 1}} ", "bold cyan"), place(hit.chunk, hit.answer))
    yield from ends(left, _whereabouts(hit), screen.width)
    score = score_text(hit.score)
    start = INDENT + len(score) + 2
    parts = flow(waterfall(hit.waterfall, most, colours, bars=bars), screen.width - start)
    for number, line in enumerate(parts):
        first = Text.assemble(" " * INDENT, (score, "bold"), "  ")
        yield (Text(" " * start) if number else first).append_text(line)
    for leg, colour in colours.items():
        if ways := hit.ways(leg):
            yield from wrapped(way_text(leg, ways, colour), screen, INDENT)
    yield from wrapped(excerpt(hit.chunk, hit.answer, screen.width - INDENT), screen, INDENT)


def way_text(leg: str, ways: Sequence[str], colour: str) -> Text:
    """Over what a leg came here: `graph over Anna Bell, link docs/keys`."""
    return Text.assemble((safe(leg), colour), (f" over {safe(', '.join(ways))}", "dim"))


def place(chunk: Chunk, answer: Answer) -> Text:
    """Title › section › subsection, with the query's terms marked: headings are searched too."""
    terms, analyser = _terms(answer)
    shown = Text()
    for step in (chunk.title or chunk.doc_id, *(step for step in chunk.section.split(" > ") if step)):
        line = safe(step)
        shown.append(" › " if shown else "", "dim")
        shown.append_text(_marked(evidence(line, terms, analyser, len(line)), "" if shown else "bold"))
    return shown


def _whereabouts(hit: Hit) -> Text:
    """When it was created, and the shortest beginning of its id that names no other chunk."""
    dated = day(hit.chunk.created)
    return Text.assemble((f"{dated} · " if dated else "", "dim"), (safe(short_id(hit.id, hit.answer)), "cyan"))


def short_id(chunk_id: str, answer: Answer) -> str:
    """What `--id` needs to name this chunk and no other."""
    view = store_snapshot(base_snapshot(answer.snapshot))
    if view is None:
        return chunk_id
    lengths = range(SHORTEST_ID, len(chunk_id), 4)
    return next((chunk_id[:n] for n in lengths if len(view.ids_from(chunk_id[:n], 2)) == 1), chunk_id)


def score_text(score: float) -> str:
    return f"{score:.4f}" if abs(score) < 10 else f"{score:.2f}"


def excerpt(chunk: Chunk, answer: Answer, width: int) -> Text:
    """The part of a chunk that shows why it was found, with the query's terms marked."""
    found = evidence(chunk.text, *_terms(answer), EXCERPT_LINES * width - width // 3)
    shown = Text.assemble(("… " if found.cut_before else "", "dim"), _marked(found, ""))
    shown.rstrip()
    return shown.append(" …" if found.cut_after else "", "dim")


def _terms(answer: Answer) -> tuple[list[str], Analyser]:
    view = store_snapshot(base_snapshot(answer.snapshot))
    analyser = view.analyser if view else Analyser()
    return analyser.query_terms(answer.query.text), analyser


def _marked(found: Excerpt, style: str) -> Text:
    shown = Text()
    at = 0
    for start, end in found.marks:
        shown.append(safe_piece(found.text[at:start]), style).append(safe_piece(found.text[start:end]), "bold yellow")
        at = end
    return shown.append(safe_piece(found.text[at:]), style)
