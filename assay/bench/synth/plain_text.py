"""Sentences and words as plain text: no markup, no code, no tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

from assay.bench.collection import CollectionDocument
from assay.ingest.readers.markdown import heading_text
from assay.text.normalisation import fold, strip_marks
from assay.text.sentences import split_sentences
from assay.text.tokeniser import is_unspaced, run_pattern

MIN_WORDS, MAX_WORDS = 8, 40
"""The range of words of a usable sentence."""
MIN_CONTENT_WORDS = 5
MIN_LETTER_SHARE = 0.85

_LEAD = re.compile(r"\s*(?:(?:[-*+•‣>–—]|\(?(?:\d{1,3}|[a-zA-Z])[.)])\s+|\[[ xX]\]\s+|#{1,6}\s+)*")
_NOISE = re.compile(r"[|{}<>=\\$^~]|https?:|www\.|```|\]\(|!\[|:[a-z_]+:")
_ENDS = (".", "!", "?", ".”", '."', ".)")


@dataclass(frozen=True, slots=True)
class Word:
    """A word in a text; `stop` marks stop words (the, of, is)."""

    text: str
    start: int
    end: int
    stop: bool

    @property
    def is_informative(self) -> bool:
        """Whether it is a useful search term."""
        return (
            not self.stop
            and len(self.text) > 2
            and self.text[0].isalpha()
            and not is_unspaced(self.text)
            and self.text.replace("-", "").isalpha()
            and self.text.lower() not in load_common_words()
        )


@dataclass(frozen=True, slots=True)
class Sentence:
    """Characters [start, end) of a document's text, their passage, and the text without markup."""

    document: int
    passage: int
    start: int
    end: int
    plain: str

    def is_running_text(self, stop: frozenset[str]) -> bool:
        """Whether it is a whole sentence of running text."""
        text = self.plain
        if not text.endswith(_ENDS) or not text[:1].isalnum() or _NOISE.search(text):
            return False
        letters = sum(c.isalpha() or c.isspace() for c in text)
        if letters < MIN_LETTER_SHARE * len(text):
            return False
        words = split_words(text, stop)
        return MIN_WORDS <= len(words) <= MAX_WORDS and sum(not word.stop for word in words) >= MIN_CONTENT_WORDS


@cache
def load_common_words() -> frozenset[str]:
    """Ordinary English words that are rare in a small collection but not informative."""
    return frozenset(files("assay.bench.synth").joinpath("dull.txt").read_text("utf-8").split())


def strip_markup(text: str) -> str:
    """Remove bullets, emphasis, link targets and tags; the result is one line."""
    return heading_text(_LEAD.sub("", text, count=1))


def read_sentences(place: int, document: CollectionDocument) -> Iterator[Sentence]:
    for number, passage in enumerate(document.passages):
        for start, end in split_sentences(passage.text):
            at = passage.start
            yield Sentence(place, number, at + start, at + end, strip_markup(passage.text[start:end]))


def split_words(text: str, stop: frozenset[str]) -> list[Word]:
    return [Word(run[0], *run.span(), stop=_is_stop(run[0], stop)) for run in run_pattern(text).finditer(text)]


@lru_cache(1 << 16)
def _is_stop(word: str, stop: frozenset[str]) -> bool:
    plain_word = strip_marks(fold(word))
    return plain_word in stop or stop.issuperset(plain_word.replace("’", "'").split("'"))


def to_query_text(words: list[Word]) -> str:
    """Join words as typed into a search box: capitals only in names."""
    return " ".join(lower_word(word.text) for word in words)


def lower_word(word: str) -> str:
    """Lower an ordinary word: `Rotate` → `rotate`; `GitLab`, `SLA`, `C` and `JINA_API_KEY` are unchanged."""
    return word.lower() if word[1:].islower() or word in ("A", "I") else word
