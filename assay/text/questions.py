"""Reads questions: their subject, the kind of answer they expect, and the time they ask about. English only."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Literal

from assay.text.statements import MAX_READ, find_names

AskedTime = Literal["present", "previous", "first", "past"]
"""How things are · how they were before the last change · how they were at first · some other time in the past."""
AnswerKind = Literal["person", "place", "time", "number"]

_FIRST = re.compile(
    r"\b(?:original(?:ly)?|(?:at|in|from) the (?:beginning|start)|at first|first|initial(?:ly)?)\b", re.I
)
_PREVIOUS = re.compile(
    r"\b(?:previous(?:ly)?|former(?:ly)?|used to|in the past|before(?=\s*(?:\?|$)))\b", re.IGNORECASE
)
_PREVIOUS_IN_PAST = re.compile(r"\b(?:before|earlier|old|use to|back then)\b", re.IGNORECASE)
_PAST = re.compile(r"\b(?:did|was|were|had|ago|last (?:week|month|year|spring|summer|autumn|winter))\b", re.IGNORECASE)
_KINDS: dict[AnswerKind, re.Pattern[str]] = {
    "person": re.compile(r"\bwho(?:m|se)?\b", re.I),
    "place": re.compile(
        r"\bwhere\b|\b(?:which|what) (?:city|town|country|room|place|hotel|school|street|floor)\b", re.I
    ),
    "time": re.compile(r"\bwhen\b|\b(?:which|what) (?:day|date|time|month|year|hour|week)|\bdeadline\b|\bdue\b", re.I),
    "number": re.compile(
        r"\bhow (?:much|many|long|high|large|big|old|often|warm|cold|far|tall|heavy|fast)\b"
        r"|\b(?:number|price|version|dose|limit|cost|rent|amount|size|salary|budget|age)\b",
        re.I,
    ),
}
_SIGNS: dict[AnswerKind, re.Pattern[str]] = {
    "person": re.compile(r"\b(?:nobody|no one|team|office|single|alone)\b", re.I),
    "place": re.compile(r"\b(?:in|at|to|into|from|near|on|under|behind|over|home|away|lost)\b", re.I),
    "time": re.compile(
        r"\d|\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|may|june|july|august"
        r"|september|october|november|december|noon|midnight|morning|afternoon|evening|o'clock|weeks?|months?|years?"
        r"|tomorrow|today)\b",
        re.I,
    ),
    "number": re.compile(
        r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred"
        r"|thousand|doubled?|half|halved|once|twice|daily|weekly|monthly|free)\b",
        re.I,
    ),
}
_DETERMINER = re.compile(r"\b(?:the|my|our|your|his|her|their|an?)\s+", re.IGNORECASE)
_WORD = re.compile(r"[\w'’-]+")
_DO = re.compile(r"\b(?:do|does|did)\s+$", re.IGNORECASE)
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
    if is_past and _FIRST.search(text):
        return "first"
    if _PREVIOUS.search(text) or (is_past and _PREVIOUS_IN_PAST.search(text)):
        return "previous"
    return "past" if is_past else "present"


def find_answer_kinds(question: str) -> list[AnswerKind]:
    """Kinds of answer that a question asks for ("who": person, "how much": number); empty when it does not say."""
    return [kind for kind, pattern in _KINDS.items() if pattern.search(question[:MAX_READ])]


def may_answer(kind: AnswerKind, text: str, known: Collection[str] = ()) -> bool:
    """Whether a statement has what a kind of question asks for; names in `known` (in lower case) do not count."""
    if kind == "person" and any(name.lower() not in known for name in find_names(f"– {text}")):
        return True
    return _SIGNS[kind].search(text[:MAX_READ]) is not None


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
