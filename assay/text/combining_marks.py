"""Limits the combining marks of one letter to thirty, as Unicode's stream-safe format does.

Normalisation sorts the marks of a letter in quadratic time: a megabyte of accents on one letter would take hours. Marks
are removed from terms and comparisons only, never from stored text.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

MAX_MARKS = 30


_LAST = 0x1F000
"""Above all marks of Unicode 16."""


@cache
def _pattern() -> re.Pattern[str]:
    marks = re.escape("".join(c for c in map(chr, range(0x300, _LAST)) if unicodedata.combining(c)))
    return re.compile(f"([{marks}]{{{MAX_MARKS}}})[{marks}]+")


def limit_marks(text: str) -> str:
    """Return the text with at most MAX_MARKS marks on one letter (a run of fewer than twice as many may stay)."""
    # A run of twice MAX_MARKS marks shows in every MAX_MARKS-th character; testing each would cost more than it saves.
    if text.isascii() or not any(map(unicodedata.combining, text[::MAX_MARKS])):
        return text
    return _pattern().sub(r"\1", text)
