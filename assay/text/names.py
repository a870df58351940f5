"""Finds names in texts by their shape, and texts that have a name.

A name is a run of capitalised words, an identifier, or a compound word (sable-loader, tkt-5320), which the entity
extractor does not read as a name. Names are folded, with one space between their words; `fold_words` makes a text in
which `f" {name} "` is found at word boundaries. Words of the calendar are no names.
"""

from __future__ import annotations

import re

from assay.text.entities import extract_entities
from assay.text.normalisation import normalise

LEAST_NAME = 3
"""Characters of a name."""
_MONTHS = "january february march april may june july august september october november december"
_DAYS = "monday tuesday wednesday thursday friday saturday sunday"
CALENDAR_WORDS = frozenset(f"{_MONTHS} {_DAYS}".split())
_WORD = re.compile(r"\w+(?:-\w+)*")
_COMPOUND = re.compile(r"\b\w+(?:-\w+)+\b")


def find_names(text: str) -> list[str]:
    """The names in a text, each once. One capitalised word at the start of a sentence is often no name: left out."""
    found = extract_entities(text)
    names = [*found.firm, *(name for name in found.soft if " " in name), *find_compounds(normalise(text))]
    return [name for name in dict.fromkeys(names) if len(name) >= LEAST_NAME and name not in CALENDAR_WORDS]


def find_compounds(text: str) -> list[str]:
    """The compound words of a text that can be names (sable-loader, tkt-5320), folded, each once, in order."""
    found = (match[0].lower() for match in _COMPOUND.finditer(text))
    return list(dict.fromkeys(word for word in found if any(map(str.isalpha, word))))


def fold_words(text: str) -> str:
    """The folded words of a text between spaces, so that a name is found at word boundaries."""
    return f" {' '.join(_WORD.findall(normalise(text)))} "
