"""What two statements are compared by, each computed when it is first needed."""

from __future__ import annotations

import re
from functools import cached_property

from assay.text.analyser import Analyser
from assay.text.normalisation import normalise
from assay.text.statements import find_names, find_value_kinds, has_change_word

_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|without|neither|nor|cannot|can't|\w+n't|stopped|quit|longer)\b"
    r"|[不没沒無无未別别勿]|ない|ません|않|없|아니"
)
_STARTS = frozenset(
    {
        *("A", "An", "The", "This", "That", "These", "Those", "I", "We", "You", "He", "She", "It", "They", "My", "Our"),
        *("Your", "His", "Her", "Their", "In", "On", "At", "For", "From", "Since", "Now", "If", "When", "Not", "No"),
        *("Never", "Use", "Always", "Please", "Correction"),
    }
)
"""Words that begin a sentence and name nothing."""


class ComparedText:
    """One text with its terms, words, numbers, names and kinds of values."""

    def __init__(self, text: str, analyser: Analyser) -> None:
        self.text = text
        self._analyser = analyser

    @cached_property
    def terms(self) -> frozenset[str]:
        """Stems without closed-class words."""
        return frozenset(self._analyser.query_terms(self.text))

    @cached_property
    def normalised(self) -> str:
        return normalise(self.text)

    @cached_property
    def words(self) -> list[str]:
        return self.normalised.split()

    @cached_property
    def numbers(self) -> frozenset[str]:
        return frozenset(_NUMBER.findall(self.normalised))

    @cached_property
    def negates(self) -> bool:
        return _NEGATION.search(self.normalised) is not None

    @cached_property
    def names(self) -> frozenset[str]:
        """The names in it; its first word counts if it is capitalised, because the subject stands there."""
        return frozenset({*find_names(self.text), *find_names(f"– {self.text}")} - _STARTS)

    @cached_property
    def value_kinds(self) -> frozenset[str]:
        return find_value_kinds(self.text)

    @cached_property
    def has_change_word(self) -> bool:
        return has_change_word(self.text)


class TextReader:
    """Reads texts, each once: the memories of a batch have the same neighbours again and again. When MOST characters
    are cached, it starts anew."""

    MOST = 4_000_000

    def __init__(self, analyser: Analyser) -> None:
        self.analyser = analyser
        self._known: dict[str, ComparedText] = {}
        self._size = 0

    def read(self, text: str) -> ComparedText:
        known = self._known.get(text)
        if known is None:
            if self._size > self.MOST:
                self._known.clear()
                self._size = 0
            known = self._known[text] = ComparedText(text, self.analyser)
            self._size += len(text)
        return known
