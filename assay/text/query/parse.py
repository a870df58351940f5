"""Parses a query: its names, identifiers, intents, versions, dates and facets, in one value.

`parse_query` is a pure function of the text and the clock. It accepts any string; it raises a QueryError when a range
of dates ends before it begins, or when the clock is no moment of the calendar.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.text.entities import extract_entities
from assay.text.identifiers import extract_identifiers
from assay.text.query.dates import DateConstraint, find_date_words
from assay.text.query.facets import split_facets
from assay.text.query.intent_rules import Intent
from assay.text.query.intents import IntentCue, find_intents, list_intents
from assay.text.query.versions import VersionConstraint, find_version_words
from assay.text.query.words import QueryWord, make_table, split_words

# Capitalised because they begin a query, not because they are names.
_OPENERS = make_table(
    """list show give find tell name get explain describe compare contrast check send enumerate summarise summarize
    need help differences difference changes"""
)


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """What a query asks for.

    entities     keys of its names, as the entity extractor makes them, each once
    identifiers  what must match exactly, as the identifier extractor finds it
    cues         the words that decided for an intent; none for a lookup
    facets       texts to search for; the query itself where it has no list
    """

    text: str
    at: float | None
    entities: tuple[str, ...]
    identifiers: tuple[str, ...]
    cues: tuple[IntentCue, ...]
    versions: tuple[VersionConstraint, ...]
    dates: tuple[DateConstraint, ...]
    facets: tuple[str, ...]

    @property
    def intents(self) -> tuple[Intent, ...]:
        """The intents of the query; lookup when nothing else was asked."""
        return list_intents(self.cues)

    def describe(self) -> str:
        """Return what was understood and from which words, for an explanation."""
        parts = [f"{cue.intent} ({self.text[cue.start : cue.end]!r})" for cue in self.cues] or ["lookup"]
        parts += [f"version {self.text[v.start : v.end]!r}" for v in self.versions]
        parts += [
            f"date {self.text[d.start : d.end]!r}" + (f": {d.problem.text}" if d.problem else "") for d in self.dates
        ]
        return " · ".join(parts)


def parse_query(text: str, at: float | None = None) -> ParsedQuery:
    """Parse a query against the clock `at` (epoch seconds; None leaves relative dates unresolved)."""
    words = split_words(text)
    dates = find_date_words(words, at)
    versions = find_version_words(words, [(date.start, date.end) for date in dates])
    cues = find_intents(words, dates, versions)
    return ParsedQuery(
        text=text,
        at=at,
        entities=_find_entities(text, words, dates),
        identifiers=tuple(extract_identifiers(text)),
        cues=cues,
        versions=versions,
        dates=dates,
        facets=split_facets(text, words, cues, dates, versions),
    )


def find_facets(text: str, at: float | None = None) -> tuple[str, ...]:
    """The facets of a query, as `parse_query` finds them: most of the time of a parse goes into names."""
    words = split_words(text)
    dates = find_date_words(words, at)
    versions = find_version_words(words, [(date.start, date.end) for date in dates])
    return split_facets(text, words, find_intents(words, dates, versions), dates, versions)


def _find_entities(text: str, words: Sequence[QueryWord], dates: Sequence[DateConstraint]) -> tuple[str, ...]:
    """The names of a query, without dates and without the verb it begins with, which is no name."""
    hidden = [(date.start, date.end) for date in dates if date.problem is None]
    hidden += [(word.start, word.end) for word in words if word.opens and word.lower in _OPENERS]
    pieces, end = [], 0
    for start, after in sorted(hidden):
        if start >= end:
            pieces += [text[end:start], " " * (after - start)]
            end = after
    found = extract_entities("".join([*pieces, text[end:]]))
    return tuple(dict.fromkeys([*found.firm, *found.soft]))
