"""Does this message need memory at all? Adaptive retrieval of 002.

A message that needs no look-up ("thanks!", "git push", 👍) is skipped, with the reason. Whatever asks for the past or
for the person is never skipped: the forcing categories win over all others. What is neither is looked up.

    forcing     memory · temporal · personal
    skipping    system · slash · emoji · greeting · affirmation · continuation · shell · short
    otherwise   plain, looked up

A greeting, an affirmation or a continuation is the whole message, never its beginning: "History of …" is no "hi".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from assay.text.commands import is_shell, is_slash, is_system
from assay.text.phrases import BEGIN, END
from assay.text.small_talk import FORCING, QUESTIONS, TALK
from assay.text.utterance import READ, Units, is_emoji, units, weight

SHORTEST = 15.0
"""Latin characters (six Chinese ones) below which a message that asks nothing is skipped."""
MOST_WRAPPERS = 8
"""How many prefixes a host may have put before a message."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Look it up or not, why by category, and why in words."""

    yes: bool
    category: str
    reason: str


def should_retrieve(query: str) -> Decision:
    """Decide for one message. Any text will do; only its first 4,000 characters are read."""
    text = unwrapped(query)[:READ]
    said = units(text)
    forced = FORCING.inside(said)
    if forced is not None:
        return Decision(True, forced.category, f'it says "{forced.phrase}" ({forced.category})')
    for skips in _SKIPS:
        skip = skips(text, said)
        if skip is not None:
            return Decision(False, *skip)
    return Decision(True, "plain", "nothing says that it needs no memory")


_BLANK = re.compile(r"\s*")
_WRAPPER = re.compile(
    r"\[cron:[^\]]*\]"  # a scheduled job
    r"|\[(?:[A-Za-z]{3},? )?\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}[^\]]{0,40}\]"  # a moment
    r"|<?@[\w.-]+>?[,:]?(?=\s)",  # a mention
    re.IGNORECASE,
)
_HEADER = re.compile(r"[A-Za-z][A-Za-z ]{0,40} \(untrusted metadata\):", re.IGNORECASE)
_FENCE = "```"


def unwrapped(query: str) -> str:
    """The message without what a host wrote before it: [cron:…], a moment, a mention, a header of metadata."""
    place = _spaces(query, 0)
    for _ in range(MOST_WRAPPERS):
        wrapper = _WRAPPER.match(query, place)
        header = None if wrapper else _HEADER.match(query, place)
        if wrapper:
            place = _spaces(query, wrapper.end())
        elif header:
            place = _spaces(query, _after_metadata(query, header.end()))
        else:
            break
    return query[place:].rstrip()


def _after_metadata(query: str, place: int) -> int:
    """Where metadata ends: after its fenced block, else at the first empty line, else with the header itself."""
    body = _spaces(query, place)
    if query.startswith(_FENCE, body):
        closed = query.find(_FENCE, body + len(_FENCE))
        return closed + len(_FENCE) if closed >= 0 else place
    empty = query.find("\n\n", place)
    return empty if empty >= 0 else place


def _spaces(query: str, place: int) -> int:
    blank = _BLANK.match(query, place)
    return blank.end() if blank else place


# -- the categories that skip, in the order they are asked; each gives (category, reason), or nothing

Skip = tuple[str, str] | None


def _order(text: str, _: Units) -> Skip:
    """What is no message of a person, or is not for the assistant."""
    if is_system(text):
        return "system", "a message of the system, not of a person"
    if is_slash(text):
        return "slash", "a slash command"
    return ("emoji", "nothing but emoji") if is_emoji(text) else None


def _talk(text: str, said: Units) -> Skip:
    """Small talk from end to end, named after its last phrase that is more than filler; or a shell command."""
    phrases = TALK.lead(said)
    named = [match for match in phrases if match.category != "filler"]
    if named and phrases[-1].end == len(said):
        return named[-1].category, f'small talk from end to end: "{named[-1].phrase}" ({named[-1].category})'
    return ("shell", "a command, not a question") if is_shell(text) else None


def _short(text: str, said: Units) -> Skip:
    if not said:
        return "short", "it holds no word"
    if weight(text) >= SHORTEST or _asks(text, said):
        return None
    return "short", "short, and it asks nothing"


def _asks(text: str, said: Units) -> bool:
    """A question mark, or a question word: in English at the beginning, and not alone."""
    if any(mark in text for mark in "?？؟"):
        return True
    asked = QUESTIONS.inside((BEGIN, *said, END))
    return asked is not None and (asked.start > 0 or len(said) > 1)


_SKIPS: tuple[Callable[[str, Units], Skip], ...] = (_order, _talk, _short)
