"""Classifies texts that are not worth remembering: the noise filter of the memory pipeline, for storing and recall.

A text is noise when every clause of it is:

    denial           an assistant that does not know or will not do:   I don't have any information about that.
    meta_question    a question about the memory itself:               Do you remember my name?
    boilerplate      greetings, thanks, offers, session messages:      Hello! How can I help you today?
    short            fewer than 5 characters (2 Chinese ones), or no word at all

One clause with content makes the whole text content: "Do you remember my birthday? It is on May 3." stays. A text of
more than LONGEST characters is never noise, so the work is bounded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from assay.text.commands import is_slash_command, is_system_message
from assay.text.normalisation import normalise
from assay.text.phrase_tables import LIGHT, NEGATING, NOISES, OPENING, RECALLED, WEIGHTLESS
from assay.text.phrase_units import MAX_READ, Units, join_units, split_units, weigh_text
from assay.text.phrases import BEGIN, END
from assay.text.tokeniser import is_unspaced

SHORTEST = 5.0
LONGEST = 600.0
LONGEST_CLAUSE = {"denial": 200.0, "meta_question": 200.0, "boilerplate": 80.0}
"""Latin characters. A longer clause has content after the phrase it begins with."""
CATEGORIES = ("denial", "meta_question", "boilerplate", "short")

# Where a clause ends; a contrasting word begins one. NFKC has already made ？！； ASCII.
_ENDS = re.compile(
    r"(?<=[?!;。…])|(?<=\.)\s|\n|[,，、]?\s*\b(?:but|however|although)\b|但是|不过|不過|可是|しかし|でも|하지만|그러나"
)


@dataclass(frozen=True, slots=True)
class NoiseDecision:
    """Whether a text is noise, its category ("" when it is not noise), and the reason."""

    noisy: bool
    category: str
    reason: str


def classify_noise(text: str) -> NoiseDecision:
    """Classify one text; any string is legal."""
    if len(text) > MAX_READ or (size := weigh_text(text)) > LONGEST:
        return NoiseDecision(False, "", "long enough to say something")
    trimmed = text.strip()
    if is_slash_command(trimmed) or is_system_message(trimmed):
        return NoiseDecision(True, "boilerplate", "a message of the system or a command to it")
    if size < SHORTEST:
        return NoiseDecision(True, "short", "shorter than five characters" if split_units(text) else "it holds no word")
    phrases: dict[str, str] = {}
    for line in trimmed.splitlines():
        for clause in _ENDS.split(normalise(line)):
            category, phrase = _classify_clause(clause)
            if not category:
                return NoiseDecision(False, "", "at least one clause says something")
            if phrase:
                phrases.setdefault(category, phrase)
    text_units = split_units(text)  # most texts have returned by now, so this is rarely computed
    if not text_units:
        return NoiseDecision(True, "short", "it holds no word")
    category = next((name for name in CATEGORIES if name in phrases), "boilerplate")
    return NoiseDecision(
        True, category, f'nothing but {_LABELS[category]}: "{phrases.get(category, join_units(text_units))}"'
    )


_LABELS = {"denial": "a denial", "meta_question": "a question about memory", "boilerplate": "boilerplate"}


def _classify_clause(clause: str) -> tuple[str, str]:
    """Return a clause's category and the phrase that shows it; no category when it has content."""
    clause_units = split_units(clause)
    opening = OPENING.match_prefix(clause_units)
    if not clause_units or (opening and opening[-1].end == len(clause_units)):
        return "boilerplate", opening[0].phrase if opening else ""
    size, statement = weigh_text(clause), clause.rstrip().endswith((".", "。"))
    # "No memories found" begins with a no, "Well, no memories found" does not: try after every opening.
    for start in (0, *(match.end for match in opening)):
        rest = (BEGIN, *(unit for unit in clause_units[start:] if unit not in WEIGHTLESS), END)
        match = NOISES.search(rest)
        if match is None or size > LONGEST_CLAUSE[match.category]:
            continue
        statement_of_question = statement and match.category == "meta_question"
        words = (unit for unit in rest[match.end : -1] if not is_unspaced(unit))
        offer_of_something = match.category == "boilerplate" and not LIGHT.issuperset(words)
        if not statement_of_question and not offer_of_something:
            return match.category, match.phrase
    return _classify_words(clause_units, clause.rstrip()[-1:]), join_units(clause_units)


def _classify_words(clause_units: Units, mark: str) -> str:
    """Return the category of a clause that has no word with content; "" when it has one."""
    words = frozenset(clause_units) - WEIGHTLESS
    if not LIGHT.union(RECALLED, NEGATING).issuperset(words):
        return ""
    if RECALLED.isdisjoint(words):
        return "boilerplate"
    if not NEGATING.isdisjoint(words):
        return "denial"
    return {"?": "meta_question", ".": ""}.get(mark, "boilerplate")
