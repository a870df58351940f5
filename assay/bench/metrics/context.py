"""Which evidence stands in a context of at most T tokens?

The context is made as `select/budget.py` makes it by default: pieces in order, one that does not fit is left out
and the next one is tried; no piece is cut. T counts the tokens of everything taken, in the one tokeniser of
budgets (`text/tokens.py`). So more tokens need not contain what fewer did.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from assay.bench.types import Evidence, Piece


def plain(text: str) -> str:
    """Text as it is compared: every run of white space is one blank."""
    return " ".join(text.split())


def fitting(pieces: Sequence[Piece], budget: int) -> tuple[Piece, ...]:
    """The pieces taken, in order, while their tokens fit."""
    taken = []
    used = 0
    for piece in pieces:
        if used + piece.tokens <= budget:
            taken.append(piece)
            used += piece.tokens
    return tuple(taken)


@dataclass(frozen=True, eq=False)
class Context:
    """What a reader would be given."""

    pieces: tuple[Piece, ...]

    @cached_property
    def tokens(self) -> int:
        return sum(piece.tokens for piece in self.pieces)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        return tuple(plain(piece.text) for piece in self.pieces)

    def holds(self, passage: Evidence) -> bool:
        """Do the pieces of its document, together, have every character of a passage (blanks aside)?

        A passage that was cut between chunks is inside when all of its chunks are.
        """
        texts = [plain(piece.text) for piece in self.pieces if piece.doc_id == passage.doc_id]
        return covered(plain(passage.text), texts)

    def groups(self, evidence: Sequence[Evidence]) -> dict[int, Evidence]:
        """Each group that is inside, with its shortest passage that is: a fact said twice is one fact."""
        inside: dict[int, Evidence] = {}
        for passage in sorted(evidence, key=lambda p: (p.group, len(p.text), p.doc_id, p.start)):
            if passage.group not in inside and self.holds(passage):
                inside[passage.group] = passage
        return inside


def covered(passage: str, texts: Sequence[str]) -> bool:
    """Is every non-blank character of a passage in one of the stretches that the texts share with it?"""
    if not passage:
        return False
    if any(passage in text for text in texts):
        return True
    reach = 0
    for start, end in sorted(stretch for text in texts for stretch in _stretches(passage, text)):
        if passage[reach:start].strip():
            return False
        reach = max(reach, end)
    return not passage[reach:].strip()


def _stretches(passage: str, text: str) -> Iterator[tuple[int, int]]:
    """Where a text that does not contain the passage still overlaps it.

    Its end may be the passage's beginning, its beginning the passage's end, or all of it lies within.
    """
    if not text:
        return
    size = len(passage)
    yield 0, _longest_seam(text, passage)
    yield size - _longest_seam(passage, text), size
    place = passage.find(text)
    while place >= 0:
        yield place, place + len(text)
        place = passage.find(text, place + 1)


def _longest_seam(left: str, right: str) -> int:
    """The largest k for which the last k characters of `left` are the first k of `right`."""
    place = left.find(right[0], max(0, len(left) - len(right)))
    while place >= 0:
        if right.startswith(left[place:]):
            return len(left) - place
        place = left.find(right[0], place + 1)
    return 0
