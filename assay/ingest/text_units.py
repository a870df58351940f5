"""Where may a text be cut? Blocks first, then sentences, then clauses and words, at last characters.

A unit is a span of the text that is not cut further, with its weight: its WordPiece tokens, but at least one per
16 characters, so that a word of a thousand characters (one [UNK]) is not free; nor is a wide gap between units.
Token counts add up exactly where units meet at white space or after a sentence mark, because the tokeniser cuts
there too; a `glued` unit begins inside a word, and nothing may be joined to its left.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import reduce
from typing import NamedTuple

from assay.text.sentences import sentences
from assay.text.wordpiece import count

CHARACTERS_PER_TOKEN = 16  # at most; more are not free
MANY_CHARACTERS = 6  # per token: a paragraph with more than this hardly ever fits

_GAP = re.compile(r"\n[^\S\n]*\n\s*")
_FENCED = re.compile(
    r"^[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)*(?P<mark>`{3,}|~{3,})[^\n]*(?:\n.*?(?:^[ \t>]*(?P=mark)[`~]*[ \t]*$|\Z)|\Z)",
    re.MULTILINE | re.DOTALL,
)
_WORD = re.compile(r"\S+")
_CLAUSE_END = frozenset(",;:)]}–—、，；：")


class Unit(NamedTuple):
    """text[start:end], what it weighs, and how it may be treated."""

    start: int
    end: int
    weight: int
    whole: bool = False  # code or a table: kept together when it fits
    glued: bool = False


def weigh(text: str) -> int:
    """The weight of a piece of text."""
    return max(count(text), len(text) // CHARACTERS_PER_TOKEN)


def fits(text: str, most: int) -> bool:
    """Does a text weigh at most so much? No ASCII character is more than one token, so a short text surely does."""
    return (len(text) <= most and text.isascii()) or weigh(text) <= most


def joined_weight(left: Unit, right: Unit) -> int:
    """The weight of two neighbours as one."""
    return left.weight + (right.start - left.end) // CHARACTERS_PER_TOKEN + right.weight


def joined(left: Unit, right: Unit) -> Unit:
    return Unit(left.start, right.end, joined_weight(left, right), left.whole or right.whole, left.glued)


def blocks(text: str, target: int) -> Iterator[Unit]:
    """Paragraphs, tables and fenced code, in order: everything between blank lines that are not inside a fence.

    A paragraph that is surely heavier than the target is not weighed, because it will be cut and its sentences
    weighed: its weight is given as its number of characters.
    """
    surely = MANY_CHARACTERS * target
    for start, end, fenced in _block_spans(text):
        whole = fenced or text.startswith("|", start)
        weight = weigh(text[start:end]) if whole or end - start <= surely else end - start
        yield Unit(start, end, weight, whole)


def _block_spans(text: str) -> Iterator[tuple[int, int, bool]]:
    here = 0
    if "```" in text or "~~~" in text:
        for fence in _FENCED.finditer(text):
            yield from _paragraphs(text, here, fence.start())
            start, end = _stripped(text, fence.start(), fence.end())
            yield start, end, True
            here = fence.end()
    yield from _paragraphs(text, here, len(text))


def _paragraphs(text: str, here: int, stop: int) -> Iterator[tuple[int, int, bool]]:
    for gap in _GAP.finditer(text, here, stop):
        start, end = _stripped(text, here, gap.start())
        if start < end:
            yield start, end, False
        here = gap.end()
    start, end = _stripped(text, here, stop)
    if start < end:
        yield start, end, False


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without white space around it."""
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())


def sentence_units(text: str, start: int, end: int, target: int, most: int) -> Iterator[Unit]:
    """The sentences (lines, in code and tables) of a span; one that weighs more than `most` in pieces."""
    for first, last in sentences(text[start:end]):
        weight = weigh(text[start + first : start + last])
        if weight <= most:
            yield Unit(start + first, start + last, weight)
        else:
            yield from word_units(text, start + first, start + last, target)


def word_units(text: str, start: int, end: int, target: int) -> Iterator[Unit]:
    """Runs of words up to `target`, cut where a clause ends if one does in the second half of the run."""
    run: list[Unit] = []
    whole: Unit | None = None  # the run as one unit
    for word in _words(text, start, end, target):
        while whole and (word.glued or joined_weight(whole, word) > target):
            cut = len(run) if word.glued else _clause_end(text, run, whole.weight, target)
            yield reduce(joined, run[:cut])
            run = run[cut:]
            whole = reduce(joined, run) if run else None
        run.append(word)
        whole = joined(whole, word) if whole else word
    if whole:
        yield whole


def _clause_end(text: str, run: list[Unit], weight: int, target: int) -> int:
    """How many words of the run to take: up to its last clause end, or all of them."""
    for place in range(len(run), 0, -1):
        if 2 * weight < target:
            break
        if text[run[place - 1].end - 1] in _CLAUSE_END:
            return place
        weight -= run[place - 1].weight
    return len(run)


def _words(text: str, start: int, end: int, target: int) -> Iterator[Unit]:
    """The words of a span; one that weighs more than `target` in pieces of characters."""
    for word in _WORD.finditer(text, start, end):
        weight = weigh(word[0])
        if weight <= target:
            yield Unit(word.start(), word.end(), weight)
        else:
            yield from _character_units(text, word.start(), word.end(), target)


def _character_units(text: str, start: int, end: int, target: int) -> Iterator[Unit]:
    here = start
    while here < end:
        size = 4 * target  # a guess: few words have more than four characters per token
        while (weight := weigh(text[here : min(here + size, end)])) > target and size > 1:
            size = max(1, min(size - 1, size * target // weight))
        there = min(here + size, end)
        yield Unit(here, there, weight, glued=here > start)
        here = there
