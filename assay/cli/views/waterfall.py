"""A score as a compact waterfall: `bm25 #1 ━━━━ .0164 + dense #3 ━━━╸ .0159 × normalise 30.5`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rich.text import Text

from assay.cli.terminal import sanitize
from assay.engine.answer import ScorePart

BAR = 8
"""Cells of the longest bar."""
MOST_PARTS = 8
"""A score of more parts than this (a long query has one per word) shows the largest; the others are counted."""
COLOURS = ("cyan", "magenta", "blue", "green", "yellow")
SIGNS = {"add": "+", "mul": "×", "set": "→"}


def leg_colours(legs: Iterable[str]) -> dict[str, str]:
    """One colour per leg, in the order of the legs."""
    return {name: COLOURS[place % len(COLOURS)] for place, name in enumerate(legs)}


def largest_addend(waterfalls: Iterable[Sequence[ScorePart]]) -> float:
    """The largest addend of an answer: all its bars are drawn on this scale, so they compare across results."""
    counted = (line for lines in waterfalls for line in lines[_start_of_ranker(lines) :])
    return max((abs(line.value) for line in counted if line.op == "add"), default=0.0)


def draw_bar(value: float, most: float) -> str:
    """A bar of at most BAR cells, in halves of a cell; never empty for a value that is not 0."""
    halves = round(BAR * 2 * min(abs(value) / most, 1.0)) if most else 0
    full, half = divmod(max(halves, 1 if value else 0), 2)
    return "━" * full + "╸" * half


def format_number(value: float) -> str:
    """Four digits that matter: .0164, 2.318, 30.5; a leading 0 says nothing."""
    if value and not 1e-4 <= abs(value) < 1e4:
        return f"{value:.1e}"
    part = f"{value:.4f}"
    return part.replace("0.", ".") if part.lstrip("-").startswith("0.") and value else f"{value:.4g}"


def waterfall_pieces(lines: Sequence[ScorePart], most: float, colours: Mapping[str, str], *, bars: bool) -> list[Text]:
    """The parts of a score, one piece each, in order; from the second on a piece begins with how it acts.

    Where a ranker sets the score anew, what came before no longer counts: of that only the ranks in the legs are shown.
    """
    start = _start_of_ranker(lines)
    before, lines = lines[:start], lines[start:]
    ranker = f"{lines[0].name}." if before else ""
    largest_parts = lines
    if len(lines) > MOST_PARTS:
        heaviest = sorted(range(len(lines)), key=lambda place: (-abs(lines[place].value), place))[:MOST_PARTS]
        largest_parts = [lines[place] for place in sorted(heaviest)]
    pieces = [
        Text(f"{sanitize(line.name)} #{line.rank}", colours.get(line.name, "dim"))
        for line in before
        if line.rank is not None
    ]
    for line in largest_parts:
        sign = f"{SIGNS[line.op]} " if pieces or line.op != "add" else ""
        colour = colours.get(line.name, "")
        name = line.name.removeprefix(ranker)
        piece = Text.assemble((sign, "dim"), (sanitize(name), colour or "dim"))
        if line.rank is not None:
            piece.append(f" #{line.rank}", colour)
        if bars and line.op == "add":
            piece.append(f" {draw_bar(line.value, most)}", colour or "cyan")
        pieces.append(piece.append(f" {format_number(line.value)}"))
    if len(lines) > len(largest_parts):
        pieces.append(Text(f"… and {len(lines) - len(largest_parts)} smaller parts", "dim"))
    return pieces


def _start_of_ranker(lines: Sequence[ScorePart]) -> int:
    """Where the last ranker begins, which sets the score and adds parts of its own ("learned", "learned.cosine"); or
    0."""
    return max(
        (
            place
            for place, line in enumerate(lines)
            if line.op == "set" and any(later.name.startswith(f"{line.name}.") for later in lines[place + 1 :])
        ),
        default=0,
    )
