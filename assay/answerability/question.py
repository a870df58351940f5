"""The words of a question as the judge reads them: names, content words, and what is left out.

Dates and versions bind, but a store need not spell them; request words (tell, compare) say nothing about the store.
Neither counts as content, so an unknown one makes nothing out of scope.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from assay.answerability.cues import EXHAUSTIVE, Cues, find_cues
from assay.errors import QueryError
from assay.protocols import Snapshot
from assay.text.identifiers import is_name
from assay.text.query.dates import DateConstraint, find_date_words
from assay.text.query.intent_rules import Intent
from assay.text.query.intents import find_intents, list_intents
from assay.text.query.versions import find_version_words
from assay.text.query.words import QueryWord, make_table, split_words
from assay.types import Query

# TKT-951963, CVE-2024-1234, E911223: letters and three digits; not GLP-1, 22:06, 2,000-plus
_CODE = re.compile(r"(?=.*[^\W\d_])(?=(?:[^\d]*\d){3})[^,:]{1,128}", re.DOTALL)
_MOST_WORDS = 128
"""Words of a query that are read; a longer one is a text, not a question."""
_REQUESTS = EXHAUSTIVE | make_table(
    """show give find tell name get explain describe compare contrast check send summarise summarize need help
    difference differences differ differs different versus vs please look looking know want wants wondering remember
    somebody someone anything something currently current exactly ever already still could would should question
    answer discuss mention say said tells put cover go walk collect retell narrate recount bring let make take see"""
)


@dataclass(frozen=True, slots=True)
class QuestionWord:
    """A content word: how it is written, its terms in the store's analysis, and whether it is a code, which a store
    either holds or does not."""

    text: str
    terms: frozenset[str]
    identifier: bool


@dataclass(frozen=True, slots=True)
class Question:
    """A parsed question. `names` are runs of capitalised words, identifiers or hyphenated words, as term sets."""

    intents: tuple[Intent, ...]
    cues: Cues
    words: tuple[QuestionWord, ...]
    names: tuple[frozenset[str], ...]
    name_texts: tuple[str, ...]
    versions: tuple[frozenset[str], ...]

    @property
    def terms(self) -> frozenset[str]:
        """The terms of its content words."""
        return frozenset().union(*(word.terms for word in self.words))


def read_question(query: Query, snapshot: Snapshot, looked_up: Collection[str]) -> Question:
    """Parse a query with the analysis of a store; of a word's terms only those that are `looked_up` count."""
    words = split_words(query.text)[:_MOST_WORDS]
    wanted = frozenset(looked_up)
    dates = _find_dates(words, query.at)
    constraints = find_version_words(words, [(date.start, date.end) for date in dates])
    hidden = [(date.start, date.end) for date in dates]
    versions = [(version.start, version.end) for version in constraints]
    terms = [frozenset(snapshot.terms(word.text)) & wanted for word in words]
    content = {
        word.start: found
        for word, found in zip(words, terms, strict=True)
        if found
        and not _inside(word, hidden)
        and not _inside(word, versions)
        and (word.lower not in _REQUESTS or _is_acronym(word))
    }
    names = _group_names(words, content)
    return Question(
        intents=list_intents(find_intents(words, dates, constraints)),
        cues=find_cues(words),
        words=tuple(_read_word(word, content[word.start]) for word in words if word.start in content),
        names=tuple(frozenset().union(*(content[word.start] for word in group)) for group in names),
        name_texts=tuple(" ".join(word.text for word in group) for group in names),
        versions=tuple(
            found
            for word, found in zip(words, terms, strict=True)
            if found and _inside(word, versions) and any(map(str.isdigit, word.text))
        ),
    )


def _read_word(word: QueryWord, terms: frozenset[str]) -> QuestionWord:
    return QuestionWord(word.text, terms, _CODE.fullmatch(word.text) is not None)


def _find_dates(words: Sequence[QueryWord], at: float | None) -> tuple[DateConstraint, ...]:
    try:
        return find_date_words(words, at)
    except QueryError:  # a range of dates that ends before it begins: the question has no readable dates
        return ()


def _inside(word: QueryWord, spans: Sequence[tuple[int, int]]) -> bool:
    return any(start <= word.start < end for start, end in spans)


def _is_acronym(word: QueryWord) -> bool:
    return len(word.text) > 1 and word.text.isupper()


def _group_names(words: Sequence[QueryWord], content: Collection[int]) -> list[list[QueryWord]]:
    """Runs of names. In a text without lower case, and where a clause begins, a capital says nothing."""
    shouted = not any(word.text.islower() for word in words)
    groups: list[list[QueryWord]] = []
    joined = False
    for place, word in enumerate(words):
        firm = is_name(word.text) or ("-" in word.text and len(word.text) > 3)
        capital = word.named and not shouted
        after = words[place + 1] if place + 1 < len(words) else None
        leads = word.opens and not (after is not None and after.named and not after.opens and not after.pause)
        if word.start not in content or word.quoted or not (firm or (capital and not leads)):
            joined = False
            continue
        if joined and not word.opens and not word.pause:
            groups[-1].append(word)
        else:
            groups.append([word])
        joined = True
    return groups
