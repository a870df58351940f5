"""Words of a question that ask for everything, for a change, or for an account of events. English only.

A cue alone decides nothing ("for all of EMEA, what is the limit?"): it makes the judge estimate the demand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from assay.text.query.words import QueryWord, make_table

_ALL = make_table("all every each everyone everybody everything")
_WHOLE = make_table("complete full entire whole exhaustive comprehensive")
_LISTS = make_table("list lists listing table overview inventory roster enumeration")
_BEFORE_LIST = _WHOLE | make_table("a an the")
_RECORDS = make_table("history record log timeline chronology register catalogue catalog")
_LIST_VERBS = make_table("list enumerate itemise itemize tabulate")
EXHAUSTIVE = _ALL | _WHOLE | _LIST_VERBS
_CHANGES = make_table(
    """change changes changed alter altered alters differ differs difference differences different diff new
    modified revised updated"""
)
_EDITIONS = make_table("version versions release releases edition editions revision revisions")
_SIDES = make_table("compare contrast versus vs against")
_NARRATIVE = make_table(
    """happened happen events event sequence chronology timeline retell narrate recount unfold unfolded account story
    narrative course"""
)
_STEPS = re.compile(
    r"\b(?!step |side )(\w{4,}|one|day) (?:by|for|against) \1\b|\bin full\b|"
    r"\bfrom (?:beginning|start) to (?:end|finish)\b|\bwithout exception\b"
)
_NEAR_START = 4
"""Words of a clause in which a quantifier belongs to what is asked for (give me every …), not to a detail."""
_BEFORE_VERB = make_table("to i we you they he she it must should can could will would may and")
_MOST_WORDS = 64
"""Words of a question that are searched for cues; a longer text is no question."""


@dataclass(frozen=True, slots=True)
class Cues:
    """What the words of a question ask for. `exhaustive` are words that ask for everything, `loose` such words in a
    place where they may belong to a detail ("how long does the whole project take?"); each once."""

    exhaustive: tuple[str, ...]
    loose: tuple[str, ...]
    change: bool
    editions: bool
    sides: bool
    narrative: bool


def find_cues(words: Sequence[QueryWord]) -> Cues:
    """Return the cues of a question's words."""
    words = [word for word in words[:_MOST_WORDS] if not word.quoted]
    lowers = [word.lower for word in words]
    line = " ".join(lowers)
    exhaustive = [match[0] for match in _STEPS.finditer(line)]
    loose: list[str] = []
    start = 0
    for place, word in enumerate(words):
        start = place if word.opens or word.pause else start
        before = lowers[place - 1] if place else ""
        if word.lower in _LIST_VERBS and (word.opens or before in ("please", "you", "and")):
            exhaustive.append(word.lower)
        elif (word.lower in _LISTS and before in _BEFORE_LIST) or (word.lower in _RECORDS and before in _WHOLE):
            exhaustive.append(f"{before} {word.lower}")
        elif word.lower in _ALL or (word.lower in _WHOLE and before not in _BEFORE_VERB):
            (exhaustive if place - start < _NEAR_START else loose).append(word.lower)
    return Cues(
        exhaustive=tuple(dict.fromkeys(exhaustive)),
        loose=tuple(dict.fromkeys(loose)),
        change=not _CHANGES.isdisjoint(lowers),
        editions=not _EDITIONS.isdisjoint(lowers),
        sides=not _SIDES.isdisjoint(lowers) or "side by side" in line,
        narrative=not _NARRATIVE.isdisjoint(lowers),
    )
