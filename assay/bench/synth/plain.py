"""Sentences and words as people would type them: no markup, no code, no tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

from assay.bench.collection import CollectionDocument
from assay.ingest.readers.markdown import heading_text
from assay.text.fold import bare, fold
from assay.text.sentences import sentences
from assay.text.tokenise import is_unspaced, pattern

SHORTEST, LONGEST = 8, 40
"""Words of a sentence that tells something."""
LEAST_CONTENT = 5
LEAST_LETTERS = 0.85

_LEAD = re.compile(r"\s*(?:(?:[-*+•‣>–—]|\(?(?:\d{1,3}|[a-zA-Z])[.)])\s+|\[[ xX]\]\s+|#{1,6}\s+)*")
_NOISE = re.compile(r"[|{}<>=\\$^~]|https?:|www\.|```|\]\(|!\[|:[a-z_]+:")
_ENDS = (".", "!", "?", ".”", '."', ".)")


@dataclass(frozen=True, slots=True)
class Word:
    """A word in a text. `stop` words (the, of, is) decide nothing."""

    text: str
    start: int
    end: int
    stop: bool

    @property
    def telling(self) -> bool:
        """Could somebody search by it?"""
        return (
            not self.stop
            and len(self.text) > 2
            and self.text[0].isalpha()
            and not is_unspaced(self.text)
            and self.text.replace("-", "").isalpha()
            and self.text.lower() not in dull_words()
        )


@dataclass(frozen=True, slots=True)
class Sentence:
    """Characters [start, end) of a document's text, which passage they stand in, and what a reader sees of them."""

    document: int
    passage: int
    start: int
    end: int
    plain: str

    def tells(self, stop: frozenset[str]) -> bool:
        """Is it a whole sentence of running text?"""
        text = self.plain
        if not text.endswith(_ENDS) or not text[:1].isalnum() or _NOISE.search(text):
            return False
        letters = sum(c.isalpha() or c.isspace() for c in text)
        if letters < LEAST_LETTERS * len(text):
            return False
        words = words_of(text, stop)
        return SHORTEST <= len(words) <= LONGEST and sum(not word.stop for word in words) >= LEAST_CONTENT


@cache
def dull_words() -> frozenset[str]:
    """Ordinary English words that a small collection may hold only once: rare there, but they say nothing."""
    return frozenset(files("assay.bench.synth").joinpath("dull.txt").read_text("utf-8").split())


def plain(text: str) -> str:
    """A stretch of a document without bullets, emphasis, link targets and tags, on one line."""
    return heading_text(_LEAD.sub("", text, count=1))


def sentences_of(place: int, document: CollectionDocument) -> Iterator[Sentence]:
    for number, passage in enumerate(document.passages):
        for start, end in sentences(passage.text):
            at = passage.start
            yield Sentence(place, number, at + start, at + end, plain(passage.text[start:end]))


def words_of(text: str, stop: frozenset[str]) -> list[Word]:
    return [Word(run[0], *run.span(), stop=_is_stop(run[0], stop)) for run in pattern(text).finditer(text)]


@lru_cache(1 << 16)
def _is_stop(word: str, stop: frozenset[str]) -> bool:
    plain_word = bare(fold(word))
    return plain_word in stop or stop.issuperset(plain_word.replace("’", "'").split("'"))


def typed(words: list[Word]) -> str:
    """Words as somebody types them into a search box: capitals only where they are part of a name."""
    return " ".join(lowered(word.text) for word in words)


def lowered(word: str) -> str:
    """`Rotate` → `rotate`; `GitLab`, `SLA`, `C` and `JINA_API_KEY` stay."""
    return word.lower() if word[1:].islower() or word in ("A", "I") else word
