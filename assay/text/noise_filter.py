"""Is there anything in this text worth remembering? The noise filter of 002, at store time and at recall time.

A text is noise when every clause of it is:

    denial           an assistant that does not know or will not do:   I don't have any information about that.
    meta_question    a question about the memory itself:               Do you remember my name?
    boilerplate      greetings, thanks, offers, session messages:      Hello! How can I help you today?
    short            fewer than 5 characters (2 Chinese ones), or no word at all

One clause that says something keeps the whole: "Do you remember my birthday? It is on May 3." stays. A text of more
than LONGEST characters is never noise, so the work is bounded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from assay.text.commands import is_slash, is_system
from assay.text.fold import normal
from assay.text.phrases import BEGIN, END
from assay.text.small_talk import LIGHT, NEGATING, NOISES, OPENING, RECALLED, WEIGHTLESS
from assay.text.tokenise import is_unspaced
from assay.text.utterance import READ, Units, spelled, units, weight

SHORTEST = 5.0
LONGEST = 600.0
LONGEST_CLAUSE = {"denial": 200.0, "meta_question": 200.0, "boilerplate": 80.0}
"""Latin characters. A longer clause says something behind the phrase it begins with."""
CATEGORIES = ("denial", "meta_question", "boilerplate", "short")

# Where a clause ends; the words that turn to something else begin one. NFKC has made ？！； plain already.
_ENDS = re.compile(
    r"(?<=[?!;。…])|(?<=\.)\s|\n|[,，、]?\s*\b(?:but|however|although)\b|但是|不过|不過|可是|しかし|でも|하지만|그러나"
)


@dataclass(frozen=True, slots=True)
class NoiseDecision:
    """Noise or not, why by category ("" when it is not noise), and why in words."""

    noisy: bool
    category: str
    reason: str


def noise(text: str) -> NoiseDecision:
    """Judge one text, whatever is in it."""
    if len(text) > READ or (size := weight(text)) > LONGEST:
        return NoiseDecision(False, "", "long enough to say something")
    trimmed = text.strip()
    if is_slash(trimmed) or is_system(trimmed):
        return NoiseDecision(True, "boilerplate", "a message of the system or a command to it")
    if size < SHORTEST:
        return NoiseDecision(True, "short", "shorter than five characters" if units(text) else "it holds no word")
    found: dict[str, str] = {}
    for line in trimmed.splitlines():
        for clause in _ENDS.split(normal(line)):
            category, phrase = _judged(clause)
            if not category:
                return NoiseDecision(False, "", "at least one clause says something")
            if phrase:
                found.setdefault(category, phrase)
    said = units(text)  # most texts have said something by now, and need not be taken apart whole
    if not said:
        return NoiseDecision(True, "short", "it holds no word")
    category = next((name for name in CATEGORIES if name in found), "boilerplate")
    return NoiseDecision(True, category, f'nothing but {_SPOKEN[category]}: "{found.get(category, spelled(said))}"')


_SPOKEN = {"denial": "a denial", "meta_question": "a question about memory", "boilerplate": "boilerplate"}


def _judged(clause: str) -> tuple[str, str]:
    """A clause's category and the phrase that shows it; no category when it says something."""
    said = units(clause)
    opening = OPENING.lead(said)
    if not said or (opening and opening[-1].end == len(said)):
        return "boilerplate", opening[0].phrase if opening else ""
    size, statement = weight(clause), clause.rstrip().endswith((".", "。"))
    # "No memories found" begins with a no, "Well, no memories found" does not: try behind every opening.
    for start in (0, *(match.end for match in opening)):
        rest = (BEGIN, *(unit for unit in said[start:] if unit not in WEIGHTLESS), END)
        match = NOISES.inside(rest)
        if match is None or size > LONGEST_CLAUSE[match.category]:
            continue
        statement_of_question = statement and match.category == "meta_question"
        words = (unit for unit in rest[match.end : -1] if not is_unspaced(unit))
        offer_of_something = match.category == "boilerplate" and not LIGHT.issuperset(words)
        if not statement_of_question and not offer_of_something:
            return match.category, match.phrase
    return _by_words(said, clause.rstrip()[-1:]), spelled(said)


def _by_words(said: Units, mark: str) -> str:
    """The category of a clause without one word that says something; none when there is such a word."""
    words = frozenset(said) - WEIGHTLESS
    if not LIGHT.union(RECALLED, NEGATING).issuperset(words):
        return ""
    if RECALLED.isdisjoint(words):
        return "boilerplate"
    if not NEGATING.isdisjoint(words):
        return "denial"
    return {"?": "meta_question", ".": ""}.get(mark, "boilerplate")
