"""How many marks may one letter carry? Thirty, as in Unicode's stream-safe format; no script needs half as many.

Normal forms sort the marks of a letter, in time that grows with the square of their number: a megabyte of accents on
one letter would keep the standard library busy for hours. What is cut is cut from terms and comparisons only.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

MOST = 30


_LAST = 0x1F000
"""Behind all marks of Unicode 16."""


@cache
def _pattern() -> re.Pattern[str]:
    marks = re.escape("".join(c for c in map(chr, range(0x300, _LAST)) if unicodedata.combining(c)))
    return re.compile(f"([{marks}]{{{MOST}}})[{marks}]+")


def bounded(text: str) -> str:
    """The text with at most MOST marks on one letter, or, where that is quicker seen, twice as many."""
    # A run of twice MOST marks shows in every MOST-th character; looking at each would cost more than it saves.
    if text.isascii() or not any(map(unicodedata.combining, text[::MOST])):
        return text
    return _pattern().sub(r"\1", text)
