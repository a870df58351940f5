"""Builds the context of at most T tokens and finds the evidence in it.

The context of a pipeline with a packer is the packer's (`split_context`). Any other is built as `select/budget.py` does
by default: pieces in order; a piece that does not fit is skipped and the next one is tried; no piece is cut. Tokens are
counted by `text/token_count.py`. So a larger budget need not contain what a smaller one does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from assay.bench.types import Evidence, Piece
from assay.engine.context import ContextSentence, PackedContext
from assay.types import Chunk


def collapse_blanks(text: str) -> str:
    """Normalise text for comparison: every run of white space becomes one blank."""
    return " ".join(text.split())


def fit_budget(pieces: Sequence[Piece], budget: int) -> tuple[Piece, ...]:
    """Select pieces in order, skipping those that do not fit."""
    selected = []
    used = 0
    for piece in pieces:
        if used + piece.tokens <= budget:
            selected.append(piece)
            used += piece.tokens
    return tuple(selected)


def split_context(context: PackedContext, chunks: Mapping[int, Chunk]) -> tuple[Piece, ...]:
    """A packer's context as pieces: a run of neighbouring sentences each, with the tokens they added.

    `chunks` maps citations to chunks. The tokens of all pieces together are those of the context.
    """
    headers = {source.citation: source.header for source in context.sources}
    runs: list[list[ContextSentence]] = []
    for sentence in context.sentences:
        before = runs[-1][-1] if runs else None
        text = chunks[sentence.citation].text
        joined = before is not None and before.citation == sentence.citation
        if before is not None and joined and not text[before.end : sentence.start].strip():
            runs[-1].append(sentence)
        else:
            runs.append([sentence])
    return tuple(
        Piece(
            chunks[run[0].citation].doc_id,
            chunks[run[0].citation].text[run[0].start : run[-1].end],
            sum(sentence.cost for sentence in run),
            headers[run[0].citation],
        )
        for run in runs
    )


@dataclass(frozen=True, eq=False)
class BudgetContext:
    """The pieces within a token budget."""

    pieces: tuple[Piece, ...]

    @cached_property
    def tokens(self) -> int:
        return sum(piece.tokens for piece in self.pieces)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """What is written for each piece, its header first."""
        return tuple(collapse_blanks(f"{piece.header} {piece.text}") for piece in self.pieces)

    def holds(self, passage: Evidence) -> bool:
        """Whether the pieces of its document together contain every non-blank character of a passage.

        A passage that spans several chunks is inside if all of its chunks are.
        """
        texts = [collapse_blanks(piece.text) for piece in self.pieces if piece.doc_id == passage.doc_id]
        return is_covered(collapse_blanks(passage.text), texts)

    def groups(self, evidence: Sequence[Evidence]) -> dict[int, Evidence]:
        """Each group inside, with its shortest passage inside: a fact stated twice counts once."""
        inside: dict[int, Evidence] = {}
        for passage in sorted(evidence, key=lambda p: (p.group, len(p.text), p.doc_id, p.start)):
            if passage.group not in inside and self.holds(passage):
                inside[passage.group] = passage
        return inside


def is_covered(passage: str, texts: Sequence[str]) -> bool:
    """Whether the texts together cover every non-blank character of a passage."""
    if not passage:
        return False
    if any(passage in text for text in texts):
        return True
    end_covered = 0
    for start, end in sorted(stretch for text in texts for stretch in _overlaps(passage, text)):
        if passage[end_covered:start].strip():
            return False
        end_covered = max(end_covered, end)
    return not passage[end_covered:].strip()


def _overlaps(passage: str, text: str) -> Iterator[tuple[int, int]]:
    """The parts of the passage that a text covers, if it does not contain the whole passage.

    The text's end may be the passage's beginning, its beginning the passage's end, or all of it lies within.
    """
    if not text:
        return
    size = len(passage)
    yield 0, _longest_overlap(text, passage)
    yield size - _longest_overlap(passage, text), size
    place = passage.find(text)
    while place >= 0:
        yield place, place + len(text)
        place = passage.find(text, place + 1)


def _longest_overlap(left: str, right: str) -> int:
    """The largest k for which the last k characters of `left` are the first k of `right`."""
    place = left.find(right[0], max(0, len(left) - len(right)))
    while place >= 0:
        if right.startswith(left[place:]):
            return len(left) - place
        place = left.find(right[0], place + 1)
    return 0
