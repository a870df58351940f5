"""Units become chunks: fill up to the target, end at a paragraph where possible, leave no crumbs.

    1. A block that still fits the target joins the chunk.
    2. Otherwise a chunk that is at least half full ends here, at a paragraph: an edit above moves few cuts below.
    3. Code and tables that fit `most` stay whole; other blocks are filled in sentence by sentence.
    4. A rest lighter than `least` joins the chunk before it, or the two share their sentences evenly.

Chunks do not overlap, and together they hold every character of the text that is not white space.
"""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

from assay.ingest.cut import Unit, blocks, fits, joined, joined_weight, sentence_units

FEW_CHARACTERS = 3  # per token: a text with no more than this nearly always fits


class Room(NamedTuple):
    """Weights: a rest below `least` is avoided, a chunk is filled up to `target` and never exceeds `most`."""

    least: int
    target: int
    most: int


def pack(text: str, room: Room) -> list[tuple[int, int]]:
    """The chunks of a text as spans, in order, without white space around them."""
    if len(text) <= FEW_CHARACTERS * room.target and (whole := text.strip()) and fits(whole, room.target):
        start = text.index(whole[0])  # most sections are small, and then there is nothing to decide
        return [(start, start + len(whole))]
    chunks: list[Unit] = []  # the last one is being filled
    for block in blocks(text, room.target):
        if chunks and joined_weight(chunks[-1], block) <= room.target:
            chunks[-1] = joined(chunks[-1], block)
            continue
        half_full = not chunks or 2 * chunks[-1].weight >= room.target
        if half_full and block.weight <= room.target:
            chunks.append(block)
        elif block.whole and block.weight <= room.most:
            _add(chunks, block, 0 if half_full else room.most)  # a line of introduction stays with its code
        else:
            _fill_in(chunks, text, block, room, fresh=half_full)
    if len(chunks) > 1 and chunks[-1].weight < room.least:
        chunks[-2:] = _without_crumb(text, chunks[-2], chunks[-1], room)
    return [(chunk.start, chunk.end) for chunk in chunks]


def _fill_in(chunks: list[Unit], text: str, block: Unit, room: Room, *, fresh: bool) -> None:
    """Add a block sentence by sentence; `fresh` begins with a new chunk."""
    for unit in sentence_units(text, block.start, block.end, room.target, room.most):
        light = bool(chunks) and chunks[-1].weight < room.least
        _add(chunks, unit, 0 if fresh else room.most if light else room.target)
        fresh = False


def _add(chunks: list[Unit], unit: Unit, limit: int) -> None:
    """Join a unit to the last chunk if that stays within the limit, else begin a new one with it."""
    if chunks and not unit.glued and joined_weight(chunks[-1], unit) <= limit:
        chunks[-1] = joined(chunks[-1], unit)
    else:
        chunks.append(unit)


def _without_crumb(text: str, before: Unit, crumb: Unit, room: Room) -> list[Unit]:
    """The last two chunks as one if that fits, else cut anew between them where they come out most even."""
    if crumb.glued:
        return [before, crumb]
    if joined_weight(before, crumb) <= room.most:
        return [joined(before, crumb)]
    if before.whole or crumb.whole:
        return [before, crumb]
    units = list(sentence_units(text, before.start, crumb.end, room.target, room.most))
    if any(unit.glued for unit in units):
        return [before, crumb]
    pairs = [[reduce(joined, units[:cut]), reduce(joined, units[cut:])] for cut in range(1, len(units))]
    fitting = [pair for pair in pairs if max(pair[0].weight, pair[1].weight) <= room.most]
    return min(fitting, key=lambda pair: abs(pair[0].weight - pair[1].weight), default=[before, crumb])
