"""Looks up phrases from tables: written once with alternatives, matched by whole units.

    (a|b)   one of them
    [a|b]   one of them, or nothing
    ^ $     the beginning and the end of what is searched

A table maps a category to lines of such phrases (small_talk.toml). They are expanded when they are loaded and looked up
in a dictionary: a search takes one look-up per unit and phrase length. Nothing backtracks.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from itertools import chain, product
from typing import Any

from assay.text.phrase_units import Units, join_units, split_units

BEGIN, END = "^", "$"
_PIECE = re.compile(r"\(([^)]*)\)|\[([^\]]*)\]|([^(\[]+)")


@dataclass(frozen=True, slots=True)
class Match:
    """A matched phrase: its category, its place in units, its spelling."""

    category: str
    start: int
    end: int
    phrase: str


def load_tables(file: str) -> dict[str, Any]:
    """Load a file of tables from this folder."""
    return tomllib.loads(resources.files("assay.text").joinpath(file).read_text("utf-8"))


class Phrases:
    """A table of phrases. Of several phrases at one place the longest wins."""

    def __init__(self, table: Mapping[str, str]) -> None:
        self._category: dict[Units, str] = {}
        for category, lines in table.items():
            for line in filter(None, map(str.strip, lines.splitlines())):
                for phrase in _expand_line(line):
                    self._category.setdefault(phrase, category)
        self._longest: dict[str, int] = {}  # by first unit: most units begin no phrase
        for phrase in self._category:
            self._longest[phrase[0]] = max(self._longest.get(phrase[0], 0), len(phrase))

    def match_at(self, units: Units, start: int) -> Match | None:
        """Return the longest phrase that begins at this place."""
        longest = self._longest.get(units[start], 0) if start < len(units) else 0
        for end in range(min(len(units), start + longest), start, -1):
            category = self._category.get(units[start:end])
            if category is not None:
                return Match(
                    category, start, end, join_units(tuple(u for u in units[start:end] if u not in (BEGIN, END)))
                )
        return None

    def search(self, units: Units) -> Match | None:
        """Return the first phrase anywhere."""
        return next(filter(None, (self.match_at(units, start) for start in range(len(units)))), None)

    def match_prefix(self, units: Units) -> list[Match]:
        """Return the phrases that follow each other from the beginning, without a gap."""
        matches: list[Match] = []
        while (match := self.match_at(units, matches[-1].end if matches else 0)) is not None:
            matches.append(match)
        return matches


def _expand_line(line: str) -> Iterator[Units]:
    """Expand a line into all its phrases."""
    choices: list[list[Units]] = []
    for alternatives, optional, plain in _PIECE.findall(line):
        choices.append([_parse_piece(option) for option in (alternatives or optional or plain).split("|")])
        if optional:
            choices[-1].append(())
    for selection in product(*choices):
        phrase = tuple(chain.from_iterable(selection))
        if phrase:
            yield phrase


def _parse_piece(text: str) -> Units:
    """Return the units of a piece of a line, its marks for beginning and end included."""
    piece = text.strip()
    return (BEGIN,) * piece.startswith(BEGIN) + split_units(piece) + (END,) * piece.endswith(END)
