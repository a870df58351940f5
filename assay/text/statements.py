"""Reads statements, turns and questions: speakers, change words, kinds of values, present or past.

English only: without such words a text has no change word, and every question counts as one about the present.
"""

from __future__ import annotations

import re
from collections.abc import Collection

MAX_READ = 2_000
"""Characters of a text that are read."""

_CHANGE = re.compile(
    r"\b(?:now|new|newly|no longer|any ?more|these days|nowadays|currently|at the moment|from (?:now|today) on|instead"
    r"|after all|again|since|moved|relocated|changed|switched|migrated|replaced|becomes?|became|left|stopped|started"
    r"|starts|gave up|given? up|quit|lost|shifted|postponed|raised|lowered|correct(?:ion|ed)|wrong|mistake|error|not"
    r"|has been|cancelled)\b",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"\b(?:did|was|were|had|used to|before|previous(?:ly)?|earlier|original(?:ly)?|former(?:ly)?|at first|in the past"
    r"|ago|last (?:week|month|year|spring|summer|autumn|winter))\b",
    re.IGNORECASE,
)
_SPEAKER = r"([^\W\d_][\w.'-]{0,30}(?: [\w.'-]{1,30})?):\s"  # one or two words
_TURN = re.compile(r"\s*" + _SPEAKER)
_NEXT_TURN = re.compile(r"\n" + _SPEAKER)
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_NUMBER = re.compile(r"\d")
_DATE = re.compile(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|may|june|july|august|september"
    r"|october|november|december)\b",
    re.IGNORECASE,
)
_GAP = 20
"""Characters before a word in which the end of a sentence is looked for."""
_POSSESSIVE = re.compile(r"['’]s?$")


def has_change_word(text: str) -> bool:
    """Whether a statement says that something changed, ended or was corrected: "moved", "no longer", "not in"."""
    return _CHANGE.search(text[:MAX_READ]) is not None


def asks_about_present(question: str) -> bool:
    """Whether a question asks how things are, not how they were: it has no "did", "was", "before", "originally"."""
    return _PAST.search(question[:MAX_READ]) is None


def find_names(text: str) -> list[str]:
    """Capitalised words inside a sentence, without possessive; months and weekdays are no names."""
    names = []
    for word in _WORD.finditer(text[:MAX_READ]):
        if word[0][0].isupper() and word.start() and not _DATE.fullmatch(word[0]):
            before = text[max(0, word.start() - _GAP) : word.start()].rstrip()
            if not before.endswith((".", "!", "?", ":")):
                names.append(_POSSESSIVE.sub("", word[0]))
    return names


def find_value_kinds(text: str, known: Collection[str] = ()) -> frozenset[str]:
    """Kinds of values that a statement has: number, date, name. Names in `known` (in lower case) do not count."""
    kinds = {"number"} if _NUMBER.search(text[:MAX_READ]) else set()
    kinds |= {"date"} if _DATE.search(text[:MAX_READ]) else set()
    kinds |= {"name"} if any(name.lower() not in known for name in find_names(text)) else set()
    return frozenset(kinds)


def find_speaker(text: str) -> str | None:
    """The speaker of a turn ("Caroline: I went …") in lower case; None for a text that is no turn, or several."""
    label = _TURN.match(text)
    if label is None or has_change_word(label[1]) or _NEXT_TURN.search(text):  # "Correction: …" is no turn
        return None
    return label[1].lower()
