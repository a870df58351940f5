"""Reads questions: their subject, and the time they ask about. English only."""

from __future__ import annotations

import re
from typing import Literal

from assay.text.statements import MAX_READ, find_names

AskedTime = Literal["present", "previous", "first", "past"]
"""How things are · how they were before the last change · how they were at first · some other time in the past."""

_FIRST = re.compile(
    r"\b(?:original(?:ly)?|(?:at|in|from) the (?:beginning|start)|at first|first|initial(?:ly)?)\b", re.I
)
_AT_FIRST = re.compile(r"\b(?:originally|initially|at first|in the beginning|to begin with|start(?:ed)? out)\b", re.I)
_PREVIOUS = re.compile(
    # "my former pupil Ada" is called so now
    r"\b(?:previous(?:ly)?|former(?:ly)?(?! (?-i:\w+ [A-Z]))|used to|in the past|before(?=\s*(?:\?|$)))\b",
    re.IGNORECASE,
)
_PREVIOUS_IN_PAST = re.compile(r"\b(?:before|earlier|old|use to|back then)\b", re.IGNORECASE)
_PAST = re.compile(r"\b(?:did|was|were|had|ago|last (?:week|month|year|spring|summer|autumn|winter))\b", re.IGNORECASE)
_BEFORE = re.compile(r"\b(?:before|earlier|back then)\b", re.IGNORECASE)
_PAST_VERB = re.compile(
    r"\b(?:\w{3,}ed|could|got|ran|took|taught|led|gave|kept|held|went|made|sat|paid|wore|chose|bought|sold|came|wrote"
    r"|drove|drank|ate|met|sang|spoke|rode|sent|slept|spent|stood|won)\b",
    re.IGNORECASE,
)
_DETERMINER = re.compile(r"\b(?:the|my|our|your|his|her|their|an?)\s+", re.IGNORECASE)
_WORD = re.compile(r"[\w'’-]+")
_DO = re.compile(r"\b(?:do|does|did)\s+$", re.IGNORECASE)
_TIME_CLAUSE = re.compile(r"(?<=\w)\s(?:(?:right|just) )?(?:before|after|since|until)\b", re.IGNORECASE)
_NO_SUBJECT = re.compile(
    r"Mrs?|Ms|Miss|Dr|Doctor|Prof|Professor|Sgt|Sergeant|Captain|Rev|Father|Sister|Sir|Frau|Herr|[A-Z]{2,}s?"
)
"""Titles and abbreviations ("Dr", "VPN"): a statement about the subject may well be without them."""
_PHRASE_WORDS = 4
_PHRASE_END = frozenset(
    {
        *(
            "of",
            "for",
            "in",
            "at",
            "to",
            "on",
            "from",
            "with",
            "by",
            "into",
            "before",
            "after",
            "since",
            "until",
            "and",
        ),
        *("is", "are", "was", "were", "do", "does", "did", "have", "has", "had", "be", "been", "use", "using", "held"),
        *("called", "due", "originally", "previously", "earlier", "formerly", "first", "now", "currently", "it", "its"),
        *("or", "not"),
    }
)
"""Words that end a noun phrase."""


def read_asked_time(question: str) -> AskedTime:
    """Which time a question asks about; without a word that says so, the present."""
    text = question[:MAX_READ]
    is_past = _PAST.search(text) is not None
    if _AT_FIRST.search(text) or (is_past and _FIRST.search(text)):
        return "first"
    if _PREVIOUS.search(text) or (is_past and _PREVIOUS_IN_PAST.search(text)):
        return "previous"
    if _PAST_VERB.search(text) and _BEFORE.search(text):  # "Who ran the club before Jo came back?"
        return "previous"
    return "past" if is_past else "present"


def cut_time_clause(question: str) -> str:
    """A question without what follows "before", "after", "since" or "until": "what was the rent before the letter?"

    What stands there tells a time, not the subject. A question that begins with such a word stays whole.
    """
    clause = _TIME_CLAUSE.search(question[:MAX_READ])
    return question[: clause.start()] if clause else question[:MAX_READ]


def find_subject_names(question: str) -> list[str]:
    """The names of a question that a statement about its subject has: no titles, no abbreviations."""
    return [name for name in find_names(cut_time_clause(question)) if not _NO_SUBJECT.fullmatch(name)]


def find_subject_words(question: str) -> list[str]:
    """Words of the noun phrases that begin with "the", "my", "our" …: what a question without a name is about.

    The last word of a phrase after "does" is its verb: "does the shop use".
    """
    text, words = question[:MAX_READ], list[str]()
    for determiner in _DETERMINER.finditer(text):
        phrase: list[str] = []
        for word in _WORD.finditer(text, determiner.end()):
            if (phrase and word[0].lower() in _PHRASE_END) or len(phrase) == _PHRASE_WORDS:
                break
            phrase.append(word[0])
        if len(phrase) > 1 and _DO.search(text[: determiner.start()]):
            phrase.pop()
        words += phrase
    return words
