"""Cuts candidates into sentences, which packers choose from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import pairwise

import numpy as np

from assay.engine.context import PackCandidate
from assay.text.sentences import split_sentences
from assay.text.token_count import count_tokens
from assay.types import Chunk, Floats, Ints

_YEARS = (-62_135_596_800.0, 253_402_300_800.0)  # the moments that `datetime` can write: years 1 to 9999


@dataclass(frozen=True, slots=True)
class CandidateSentence:
    """Characters [start, end) of a candidate's text; `candidate` is its place in the pool, `is_cut` says that its end
    is missing."""

    candidate: int
    start: int
    end: int
    text: str
    tokens: int
    is_cut: bool = False


@dataclass(frozen=True)
class SentencePool:
    """The candidates of a packer, what they stand under, and their sentences in order.

    `headings` are the lines of `format_header`; `headers` are what is written: the same, or nothing.
    """

    candidates: tuple[PackCandidate, ...]
    headings: tuple[str, ...]
    headers: tuple[str, ...]
    sentences: tuple[CandidateSentence, ...]

    def __len__(self) -> int:
        return len(self.sentences)

    @cached_property
    def candidate_of(self) -> Ints:
        """The place of each sentence's candidate."""
        return np.array([sentence.candidate for sentence in self.sentences], np.int32)

    @cached_property
    def ranges(self) -> tuple[range, ...]:
        """The sentences of each candidate."""
        bounds = np.searchsorted(self.candidate_of, np.arange(len(self.candidates) + 1)).tolist()
        return tuple(range(first, last) for first, last in pairwise(bounds))

    @cached_property
    def scores(self) -> Floats:
        """The score of each sentence's candidate."""
        return np.array([self.candidates[place].score for place in self.candidate_of.tolist()], np.float64)


def make_pool(candidates: Sequence[PackCandidate], *, headers: bool = True) -> SentencePool:
    """Cut candidates into sentences. A chunk whose header and text are the same as an earlier one's is left out."""
    distinct: dict[tuple[str, str], PackCandidate] = {}
    for candidate in candidates:
        distinct.setdefault((format_header(candidate.chunk), candidate.chunk.text), candidate)
    kept = tuple(distinct.values())
    headings = tuple(heading for heading, _ in distinct)
    return SentencePool(
        kept,
        headings,
        headings if headers else ("",) * len(kept),
        tuple(
            CandidateSentence(place, start, end, text, count_tokens(text))
            for place, candidate in enumerate(kept)
            for start, end in split_sentences(candidate.chunk.text)
            for text in (candidate.chunk.text[start:end],)
        ),
    )


def format_header(chunk: Chunk) -> str:
    """Title › section › version · date, on one line, of those that the chunk has."""
    version = chunk.meta.get("version")
    title = " › ".join(part for part in (chunk.title, *chunk.section.split(" > ")) if part)
    parts = (title, str(version) if isinstance(version, str | int | float) else "", format_day(chunk.created))
    return " ".join(" · ".join(part for part in parts if part).split())


def format_day(moment: float) -> str:
    """The UTC day of a moment; "" where it is unknown or not in the calendar."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d") if _YEARS[0] <= moment < _YEARS[1] else ""
