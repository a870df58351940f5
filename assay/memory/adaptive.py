"""Adaptive retrieval: decides whether a message needs memory at all (memory pipeline).

A message that needs no look-up ("thanks!", "git push", 👍) is skipped, with the reason. A message about the past or
about the person is never skipped: the forcing categories win over all others. Everything else is looked up.

    forcing     memory · temporal · personal
    skipping    system · slash · emoji · greeting · affirmation · continuation · shell · short
    otherwise   plain, looked up

A greeting, an affirmation or a continuation must be the whole message, not its beginning: "History of …" is no "hi".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from assay.text.commands import is_shell_command, is_slash_command, is_system_message
from assay.text.phrase_tables import FORCING, QUESTIONS, TALK
from assay.text.phrase_units import MAX_READ, Units, is_emoji, split_units, weigh_text
from assay.text.phrases import BEGIN, END

MIN_LENGTH = 15.0
"""Latin characters (six Chinese ones) below which a message without a question is skipped."""
MAX_WRAPPERS = 8
"""How many prefixes of a host are removed from a message."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether to look up, with the category and a sentence as the reason."""

    yes: bool
    category: str
    reason: str


def should_retrieve(query: str) -> Decision:
    """Decide for one message; only its first 4,000 characters are read."""
    text = strip_wrappers(query)[:MAX_READ]
    phrase_units = split_units(text)
    forced = FORCING.search(phrase_units)
    if forced is not None:
        return Decision(True, forced.category, f'it says "{forced.phrase}" ({forced.category})')
    for skips in _SKIPS:
        skip = skips(text, phrase_units)
        if skip is not None:
            return Decision(False, *skip)
    return Decision(True, "plain", "nothing says that it needs no memory")


_BLANK = re.compile(r"\s*")
_WRAPPER = re.compile(
    r"\[cron:[^\]]*\]"  # a scheduled job
    r"|\[(?:[A-Za-z]{3},? )?\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}[^\]]{0,40}\]"  # a timestamp
    r"|<?@[\w.-]+>?[,:]?(?=\s)",  # a mention
    re.IGNORECASE,
)
_HEADER = re.compile(r"[A-Za-z][A-Za-z ]{0,40} \(untrusted metadata\):", re.IGNORECASE)
_FENCE = "```"


def strip_wrappers(query: str) -> str:
    """Remove what a host wrote before a message: [cron:…], a timestamp, a mention, a header of metadata."""
    place = _skip_spaces(query, 0)
    for _ in range(MAX_WRAPPERS):
        wrapper = _WRAPPER.match(query, place)
        header = None if wrapper else _HEADER.match(query, place)
        if wrapper:
            place = _skip_spaces(query, wrapper.end())
        elif header:
            place = _skip_spaces(query, _end_of_metadata(query, header.end()))
        else:
            break
    return query[place:].rstrip()


def _end_of_metadata(query: str, place: int) -> int:
    """Where metadata ends: after its fenced block, else at the first empty line, else after the header."""
    body = _skip_spaces(query, place)
    if query.startswith(_FENCE, body):
        closed = query.find(_FENCE, body + len(_FENCE))
        return closed + len(_FENCE) if closed >= 0 else place
    empty = query.find("\n\n", place)
    return empty if empty >= 0 else place


def _skip_spaces(query: str, place: int) -> int:
    blank = _BLANK.match(query, place)
    return blank.end() if blank else place


# -- the rules that skip, in order; each gives (category, reason) or None

Skip = tuple[str, str] | None


def _skip_commands(text: str, _: Units) -> Skip:
    """Messages of the system, slash commands, and emoji."""
    if is_system_message(text):
        return "system", "a message of the system, not of a person"
    if is_slash_command(text):
        return "slash", "a slash command"
    return ("emoji", "nothing but emoji") if is_emoji(text) else None


def _skip_small_talk(text: str, phrase_units: Units) -> Skip:
    """Small talk from end to end, named after its last phrase that is not filler; or a shell command."""
    phrases = TALK.match_prefix(phrase_units)
    labelled = [match for match in phrases if match.category != "filler"]
    if labelled and phrases[-1].end == len(phrase_units):
        return labelled[-1].category, f'small talk from end to end: "{labelled[-1].phrase}" ({labelled[-1].category})'
    return ("shell", "a command, not a question") if is_shell_command(text) else None


def _skip_short(text: str, phrase_units: Units) -> Skip:
    if not phrase_units:
        return "short", "it holds no word"
    if weigh_text(text) >= MIN_LENGTH or _is_question(text, phrase_units):
        return None
    return "short", "short, and it asks nothing"


def _is_question(text: str, phrase_units: Units) -> bool:
    """Whether a text has a question mark or a question word (in English at the beginning, and not alone)."""
    if any(mark in text for mark in "?？؟"):
        return True
    question = QUESTIONS.search((BEGIN, *phrase_units, END))
    return question is not None and (question.start > 0 or len(phrase_units) > 1)


_SKIPS: tuple[Callable[[str, Units], Skip], ...] = (_skip_commands, _skip_small_talk, _skip_short)
