"""Phrases in tables: written once with alternatives, found by whole units.

    (a|b)   one of them
    [a|b]   one of them, or nothing
    ^ $     the beginning and the end of what is searched

A table is a mapping from category to lines of such phrases (small_talk.toml). They are expanded when they are read and
looked up in a dictionary: a search takes one look-up per unit and phrase length, whatever the text. Nothing backtracks.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from itertools import chain, product
from typing import Any

from assay.text.utterance import Units, spelled, units

BEGIN, END = "^", "$"
_PIECE = re.compile(r"\(([^)]*)\)|\[([^\]]*)\]|([^(\[]+)")


@dataclass(frozen=True, slots=True)
class Match:
    """A phrase that was found: its category, where it stands, how it is spelled."""

    category: str
    start: int
    end: int
    phrase: str


def tables(file: str) -> dict[str, Any]:
    """A file of tables beside this one."""
    return tomllib.loads(resources.files("assay.text").joinpath(file).read_text("utf-8"))


class Phrases:
    """A table of phrases, ready to be looked up. Of several phrases at one place the longest wins."""

    def __init__(self, table: Mapping[str, str]) -> None:
        self._category: dict[Units, str] = {}
        for category, lines in table.items():
            for line in filter(None, map(str.strip, lines.splitlines())):
                for phrase in _expand(line):
                    self._category.setdefault(phrase, category)
        self._longest: dict[str, int] = {}  # by the unit a phrase begins with: most units begin none
        for phrase in self._category:
            self._longest[phrase[0]] = max(self._longest.get(phrase[0], 0), len(phrase))

    def at(self, said: Units, start: int) -> Match | None:
        """The longest phrase that begins at this place."""
        longest = self._longest.get(said[start], 0) if start < len(said) else 0
        for end in range(min(len(said), start + longest), start, -1):
            category = self._category.get(said[start:end])
            if category is not None:
                return Match(category, start, end, spelled(tuple(u for u in said[start:end] if u not in (BEGIN, END))))
        return None

    def inside(self, said: Units) -> Match | None:
        """The first phrase anywhere."""
        return next(filter(None, (self.at(said, start) for start in range(len(said)))), None)

    def lead(self, said: Units) -> list[Match]:
        """Phrases that follow each other from the beginning, without a gap."""
        found: list[Match] = []
        while (match := self.at(said, found[-1].end if found else 0)) is not None:
            found.append(match)
        return found


def _expand(line: str) -> Iterator[Units]:
    """Every phrase that a line stands for."""
    choices: list[list[Units]] = []
    for alternatives, optional, plain in _PIECE.findall(line):
        choices.append([_spoken(option) for option in (alternatives or optional or plain).split("|")])
        if optional:
            choices[-1].append(())
    for chosen in product(*choices):
        phrase = tuple(chain.from_iterable(chosen))
        if phrase:
            yield phrase


def _spoken(text: str) -> Units:
    """The units of a piece of a line, its marks for beginning and end included."""
    said = text.strip()
    return (BEGIN,) * said.startswith(BEGIN) + units(said) + (END,) * said.endswith(END)
