"""Splits a text into units: blocks first, then sentences, then clauses and words, at last characters.

A unit is a span of the text with its weight: its WordPiece tokens, but at least one per 16 characters, so that a word
of a thousand characters (one [UNK]) or a wide gap between units is not free. Token counts add up exactly where units
meet at white space or after a sentence mark, because the tokeniser splits there too; a `glued` unit begins inside a
word, and no unit may be joined to its left.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import reduce
from typing import NamedTuple

from assay.text.sentences import split_sentences
from assay.text.wordpiece import count_pieces

CHARACTERS_PER_TOKEN = 16  # at most
MANY_CHARACTERS = 6  # per token: a paragraph with more than this hardly ever fits

_GAP = re.compile(r"\n[^\S\n]*\n\s*")
_FENCED = re.compile(
    r"^[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)*(?P<mark>`{3,}|~{3,})[^\n]*(?:\n.*?(?:^[ \t>]*(?P=mark)[`~]*[ \t]*$|\Z)|\Z)",
    re.MULTILINE | re.DOTALL,
)
_WORD = re.compile(r"\S+")
_CLAUSE_END = frozenset(",;:)]}–—、，；：")


class TextUnit(NamedTuple):
    """The span text[start:end], its weight, and how it may be split and joined."""

    start: int
    end: int
    weight: int
    indivisible: bool = False  # code or a table: not split when it fits
    glued: bool = False


def weigh(text: str) -> int:
    """Return the weight of a piece of text."""
    return max(count_pieces(text), len(text) // CHARACTERS_PER_TOKEN)


def fits(text: str, most: int) -> bool:
    """Does a text weigh at most `most`? No ASCII character is more than one token, so a short text does."""
    return (len(text) <= most and text.isascii()) or weigh(text) <= most


def weigh_joined(left: TextUnit, right: TextUnit) -> int:
    """Return the weight of two adjacent units joined."""
    return left.weight + (right.start - left.end) // CHARACTERS_PER_TOKEN + right.weight


def join_units(left: TextUnit, right: TextUnit) -> TextUnit:
    return TextUnit(left.start, right.end, weigh_joined(left, right), left.indivisible or right.indivisible, left.glued)


def split_blocks(text: str, target: int) -> Iterator[TextUnit]:
    """Yield paragraphs, tables and fenced code, in order: everything between blank lines that are not inside a fence.

    A paragraph that is certainly heavier than the target is not weighed, because its sentences will be: its weight is
    its number of characters.
    """
    too_long = MANY_CHARACTERS * target
    for start, end, fenced in _block_spans(text):
        indivisible = fenced or text.startswith("|", start)
        weight = weigh(text[start:end]) if indivisible or end - start <= too_long else end - start
        yield TextUnit(start, end, weight, indivisible)


def _block_spans(text: str) -> Iterator[tuple[int, int, bool]]:
    position = 0
    if "```" in text or "~~~" in text:
        for fence in _FENCED.finditer(text):
            yield from _paragraphs(text, position, fence.start())
            start, end = _strip_span(text, fence.start(), fence.end())
            yield start, end, True
            position = fence.end()
    yield from _paragraphs(text, position, len(text))


def _paragraphs(text: str, position: int, stop: int) -> Iterator[tuple[int, int, bool]]:
    for gap in _GAP.finditer(text, position, stop):
        start, end = _strip_span(text, position, gap.start())
        if start < end:
            yield start, end, False
        position = gap.end()
    start, end = _strip_span(text, position, stop)
    if start < end:
        yield start, end, False


def _strip_span(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span without white space around it."""
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())


def split_into_sentences(text: str, start: int, end: int, target: int, most: int) -> Iterator[TextUnit]:
    """Yield the sentences (lines, in code and tables) of a span; one heavier than `most` is split into words."""
    for first, last in split_sentences(text[start:end]):
        weight = weigh(text[start + first : start + last])
        if weight <= most:
            yield TextUnit(start + first, start + last, weight)
        else:
            yield from split_into_words(text, start + first, start + last, target)


def split_into_words(text: str, start: int, end: int, target: int) -> Iterator[TextUnit]:
    """Yield runs of words up to `target`, split where a clause ends if one does in the second half of the run."""
    run: list[TextUnit] = []
    joined: TextUnit | None = None  # the run as one unit
    for word in _split_words(text, start, end, target):
        while joined and (word.glued or weigh_joined(joined, word) > target):
            cut = len(run) if word.glued else _clause_end(text, run, joined.weight, target)
            yield reduce(join_units, run[:cut])
            run = run[cut:]
            joined = reduce(join_units, run) if run else None
        run.append(word)
        joined = join_units(joined, word) if joined else word
    if joined:
        yield joined


def _clause_end(text: str, run: list[TextUnit], weight: int, target: int) -> int:
    """Return how many words of the run to take: up to its last clause end, or all of them."""
    for place in range(len(run), 0, -1):
        if 2 * weight < target:
            break
        if text[run[place - 1].end - 1] in _CLAUSE_END:
            return place
        weight -= run[place - 1].weight
    return len(run)


def _split_words(text: str, start: int, end: int, target: int) -> Iterator[TextUnit]:
    """Yield the words of a span; one heavier than `target` is split into pieces of characters."""
    for word in _WORD.finditer(text, start, end):
        weight = weigh(word[0])
        if weight <= target:
            yield TextUnit(word.start(), word.end(), weight)
        else:
            yield from _split_word(text, word.start(), word.end(), target)


def _split_word(text: str, start: int, end: int, target: int) -> Iterator[TextUnit]:
    first = start
    while first < end:
        size = 4 * target  # a guess: few words have more than four characters per token
        while (weight := weigh(text[first : min(first + size, end)])) > target and size > 1:
            size = max(1, min(size - 1, size * target // weight))
        last = min(first + size, end)
        yield TextUnit(first, last, weight, glued=first > start)
        first = last
