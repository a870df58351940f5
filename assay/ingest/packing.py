"""Packs units into chunks: fills up to the target, ends at a paragraph where possible, avoids small remainders.

    1. A block that still fits the target joins the chunk.
    2. Otherwise a chunk that is at least half full ends, at a paragraph: an edit above moves few cuts below.
    3. Code and tables that fit `most` stay whole; other blocks are filled in sentence by sentence.
    4. A remainder lighter than `least` joins the chunk before it, or the two share their sentences evenly.

Chunks do not overlap, and together they hold every character of the text that is not white space.
"""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

from assay.ingest.text_units import TextUnit, fits, join_units, split_blocks, split_into_sentences, weigh_joined

FEW_CHARACTERS = 3  # per token: a text with no more than this nearly always fits


class SizeLimits(NamedTuple):
    """Weights: a remainder below `least` is avoided, a chunk is filled up to `target` and never exceeds `most`."""

    least: int
    target: int
    most: int


def pack_chunks(text: str, limits: SizeLimits) -> list[tuple[int, int]]:
    """Return the chunks of a text as spans, in order, without white space around them."""
    if len(text) <= FEW_CHARACTERS * limits.target and (stripped := text.strip()) and fits(stripped, limits.target):
        start = text.index(stripped[0])  # most sections are small
        return [(start, start + len(stripped))]
    chunks: list[TextUnit] = []  # the last one is being filled
    for block in split_blocks(text, limits.target):
        if chunks and weigh_joined(chunks[-1], block) <= limits.target:
            chunks[-1] = join_units(chunks[-1], block)
            continue
        half_full = not chunks or 2 * chunks[-1].weight >= limits.target
        if half_full and block.weight <= limits.target:
            chunks.append(block)
        elif block.indivisible and block.weight <= limits.most:
            _add(chunks, block, 0 if half_full else limits.most)  # a line of introduction stays with its code
        else:
            _fill_in(chunks, text, block, limits, fresh=half_full)
    if len(chunks) > 1 and chunks[-1].weight < limits.least:
        chunks[-2:] = _merge_remainder(text, chunks[-2], chunks[-1], limits)
    return [(chunk.start, chunk.end) for chunk in chunks]


def _fill_in(chunks: list[TextUnit], text: str, block: TextUnit, limits: SizeLimits, *, fresh: bool) -> None:
    """Add a block sentence by sentence; `fresh` begins with a new chunk."""
    for unit in split_into_sentences(text, block.start, block.end, limits.target, limits.most):
        light = bool(chunks) and chunks[-1].weight < limits.least
        _add(chunks, unit, 0 if fresh else limits.most if light else limits.target)
        fresh = False


def _add(chunks: list[TextUnit], unit: TextUnit, limit: int) -> None:
    """Join a unit to the last chunk if that stays within the limit, else begin a new one with it."""
    if chunks and not unit.glued and weigh_joined(chunks[-1], unit) <= limit:
        chunks[-1] = join_units(chunks[-1], unit)
    else:
        chunks.append(unit)


def _merge_remainder(text: str, before: TextUnit, remainder: TextUnit, limits: SizeLimits) -> list[TextUnit]:
    """Return the last two chunks as one if that fits, else split anew where the two weigh most alike."""
    if remainder.glued:
        return [before, remainder]
    if weigh_joined(before, remainder) <= limits.most:
        return [join_units(before, remainder)]
    if before.indivisible or remainder.indivisible:
        return [before, remainder]
    units = list(split_into_sentences(text, before.start, remainder.end, limits.target, limits.most))
    if any(unit.glued for unit in units):
        return [before, remainder]
    pairs = [[reduce(join_units, units[:cut]), reduce(join_units, units[cut:])] for cut in range(1, len(units))]
    fitting = [pair for pair in pairs if max(pair[0].weight, pair[1].weight) <= limits.most]
    return min(fitting, key=lambda pair: abs(pair[0].weight - pair[1].weight), default=[before, remainder])
