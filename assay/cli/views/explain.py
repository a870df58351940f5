"""Why a chunk stands where it stands, step by step; or why it is not there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from assay.cli.terminal import console, count, safe, speaks_unicode
from assay.cli.views.answer import excerpt, place, score_text, way_text
from assay.cli.views.footer import footer
from assay.cli.views.layout import columns, flow, wrapped
from assay.cli.views.waterfall import SIGNS, bar, largest, number, tints, waterfall
from assay.engine.answer import ChunkStep, Line

if TYPE_CHECKING:
    from assay.kb import Explanation

Colours = Mapping[str, str]


def show_explanation(found: Explanation, pipeline: str, *, plain: bool = False) -> None:
    """The chunk, the verdict on it, its way through the steps, its score as a waterfall, its evidence."""
    screen = console(plain=plain)
    for line in _lines(found, screen, bars=not plain and speaks_unicode()):
        screen.print(line)
    for line in footer(found.answer, pipeline, screen.width):
        screen.print(line)


def _lines(found: Explanation, screen: Console, *, bars: bool) -> Iterator[Text]:
    answer, chunk = found.answer, found.chunk
    colours = tints(span.name for span in answer.trace if span.kind == "leg")
    if chunk is not None:
        yield place(chunk, answer)
        yield Text(safe(f"{chunk.doc_id} · {chunk.id}"), "dim")
        yield from wrapped(excerpt(chunk, answer, screen.width - 2), screen, 2)
        yield Text()
    results = count(len(answer), "result")
    if found.rank is None:
        yield Text(f"Not in the answer, which has {results}.", "bold yellow")
        for reason in found.reasons:
            yield from wrapped(Text(f"• {safe(reason)}"), screen, 2)
    else:
        yield Text(f"Rank {found.rank} of {results}, score {score_text(answer[found.rank - 1].score)}.", "bold green")
    if found.passages:
        yield Text("\nStep by step", "bold")
        yield from columns([*_passages(found.passages, colours, screen.width, bars=bars)], right=(1, 2), indent=2)
    if found.rank is not None:
        yield Text("\nThe score", "bold")
        hit = answer[found.rank - 1]
        yield from columns([*_parts(hit.waterfall, colours, bars=bars)], right=(1,), indent=2)
        for leg, colour in colours.items():
            if ways := hit.ways(leg, None):
                yield from wrapped(way_text(leg, ways, colour), screen, 2)
    yield Text()


def _passages(passages: tuple[ChunkStep, ...], colours: Colours, width: int, *, bars: bool) -> Iterator[list[Text]]:
    """One row per step: the rank and score it gave the chunk, and from which parts; or why it is not there."""
    for passage in passages:
        name = Text(safe(passage.step), colours.get(passage.step, ""))
        if passage.rank is None or passage.score is None:
            yield [name, Text("–", "dim"), Text(), Text(safe(passage.why), "yellow")]
            continue
        own = dict.fromkeys((line.name for line in passage.lines), colours.get(passage.step, ""))
        parts = waterfall(passage.lines, largest([passage.lines]), own, bars=bars)
        rows = flow(parts, max(width - 36, 24)) or [Text()]
        yield [name, Text(f"#{passage.rank}"), Text(score_text(passage.score), "bold"), rows[0]]
        for row in rows[1:]:
            yield [Text(), Text(), Text(), row]


def _parts(lines: tuple[Line, ...], colours: Colours, *, bars: bool) -> Iterator[list[Text]]:
    """The final score, a row per part: how it acts, and the score after it."""
    most = largest([lines])
    for line in lines:
        colour = colours.get(line.name, "")
        rank = f" #{line.rank}" if line.rank is not None else ""
        length = bar(line.value, most) if bars and line.op == "add" else ""
        acts = Text(f"{SIGNS[line.op]} {number(line.value)}")
        yield [
            Text(f"{safe(line.name)}{rank}", colour),
            acts,
            Text(length, colour or "cyan"),
            Text(f"= {number(line.score)}"),
        ]


def explanation_json(found: Explanation) -> dict[str, Any]:
    """The documented form of an explanation (docs/reference/answer.md)."""
    whole = found.answer.to_json()
    return {
        "id": None if found.chunk is None else found.chunk.id,
        "rank": found.rank,
        "reasons": list(found.reasons),
        "passages": [
            {
                "step": passage.step,
                "kind": passage.kind,
                "rank": passage.rank,
                "score": passage.score,
                "why": passage.why or None,
                "parts": [
                    {"part": line.name, "op": line.op, "value": line.value, "score": line.score}
                    for line in passage.lines
                ],
            }
            for passage in found.passages
        ],
        "hit": None if found.rank is None else whole["hits"][found.rank - 1],
        **{key: whole[key] for key in ("query", "verdict", "trace", "digests")},
    }
