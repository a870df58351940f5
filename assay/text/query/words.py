"""Splits a query into words with their places; the other modules of this folder read words, not characters.

Runs come from the tokeniser, so `all-hands`, `CVE-2024-1234` and `2024-03-15` are one word each. Words in quotation
marks are marked: a quoted title is neither a date nor a cue.
"""

from __future__ import annotations

from typing import NamedTuple

from assay.text.identifiers import find_quotes, is_name
from assay.text.normalisation import normalise
from assay.text.tokeniser import run_pattern

LONGEST_WORD = 40
"""Characters of a word that a rule reads; no date, version or cue is longer."""
_BREAKS = frozenset(".?!;\n\r")
_PAUSES = frozenset(",:()[]–—|")


def make_table(words: str) -> frozenset[str]:
    """Return the words of a string as a set."""
    return frozenset(words.split())


class QueryWord(NamedTuple):
    """A word of a query.

    lower   normalised, without a possessive s, at most LONGEST_WORD characters
    gap     the characters between the previous word and this one, at most eight
    opens   does a clause begin here?
    pause   is there a comma, colon, dash or bracket before it?
    """

    text: str
    lower: str
    start: int
    end: int
    gap: str
    opens: bool
    pause: bool
    quoted: bool

    @property
    def named(self) -> bool:
        """Does it look like a name: an identifier, or written with a capital?"""
        return not self.quoted and (self.text[0].isupper() or is_name(self.text[:LONGEST_WORD]))


def split_words(text: str) -> list[QueryWord]:
    """Return the words of a query in order."""
    words: list[QueryWord] = []
    quotes = iter(find_quotes(text))
    quote = next(quotes, None)
    end = 0
    for run in run_pattern(text).finditer(text):
        while quote is not None and quote[1] <= run.start():
            quote = next(quotes, None)
        gap = text[end : run.start()]
        lower = normalise(run[0][:LONGEST_WORD])
        if lower.endswith("'s") and len(lower) > 2:
            lower = lower[:-2]
        words.append(
            QueryWord(
                text=run[0],
                lower=lower,
                start=run.start(),
                end=run.end(),
                gap=gap if len(gap) <= 8 else gap[:4] + gap[-4:],
                opens=not words or _ends_clause(gap, words[-1].lower),
                pause=not _PAUSES.isdisjoint(gap),
                quoted=quote is not None and quote[0] < run.end() and run.start() < quote[1],
            )
        )
        end = run.end()
    return words


def _ends_clause(gap: str, before: str) -> bool:
    """Does a clause end in this gap? A dot after an abbreviation (vs. ver. Sept.) ends none."""
    marks = _BREAKS.intersection(gap)
    return bool(marks) and not (marks == {"."} and before in _ABBREVIATIONS)


_ABBREVIATIONS = make_table(
    """vs ver v no nr jan feb mar apr jun jul aug sep sept oct nov dec approx dr mr mrs ms st inc ltd"""
)
