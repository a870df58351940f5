"""Finds the runs of characters that are words, identifiers or unspaced script.

`find_runs(text)` finds them in one pass of one regular expression:

    words        letters, digits, marks and underscores
    compounds    words joined by  . - ' / \\ @ &  and, between digits,  : ,    (v1.29.3, user@example.com, don't)
    with signs   .NET  --dry-run  #34524  C++  C#
    unspaced     runs of Han, kana, Hangul, Thai, Lao, Khmer and Myanmar, never mixed with other letters
    emoji        one at a time, flags in pairs

ASCII text takes a smaller expression; it finds the same runs.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

# Scripts written without spaces between words (Hangul has spaces, but glues particles to nouns).
_UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ebd\u0ec0-\u0ece\u0edc-\u0edf"  # Thai, Lao
    "\u1000-\u103f\u1050-\u109f\u1780-\u17d3\ua9e0-\ua9ef\uaa60-\uaa7f"  # Myanmar, Khmer
    "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb\uffa1-\uffdc"  # Hangul
    "\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # kana
    "\u2e80-\u2fd5\u3005-\u3007\u3021-\u3029\u3038-\u303c\u3105-\u312f\u31a0-\u31bf"  # Han, Bopomofo
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_SIMPLE = re.compile("[\u3041-\u3094\u30a1-\u30fa\u30fc-\u30fe\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3]+")
_EMOJI = "\u2600-\u27bf\u2b50\u2b55\U0001f000-\U0001f1e5\U0001f200-\U0001faff"
_JOINERS = "\u00ad\u200c\u200d\u200e\u200f\u2060\ufeff"  # invisible inside a word

_SHAPE = r"""
    (?: \.(?=[^\W\d])(?<![\w.].) | --(?=[^\W\d])(?<![\w-]--) | \#(?=\d) )?            # .NET  --dry-run  #34524
    {word}+
    (?: (?: [./@\\'{apostrophes}-] | (?<=\d)[:,](?=\d) | (?<=[^\W\d_])&(?=[^\W\d_]) ) {word}+ )*
    (?: \+\+\d* | (?<=(?<!\w)[a-zA-Z])\#(?!\w) )?                                       # C++  C++17  C#
"""
_ASCII = re.compile(_SHAPE.format(word="[A-Za-z0-9_]", apostrophes=""), re.VERBOSE | re.ASCII)


def find_runs(text: str) -> list[str]:
    """Return every word, compound, unspaced run and emoji of a text, in order."""
    return run_pattern(text).findall(text)


def run_pattern(text: str) -> re.Pattern[str]:
    """Return the expression for this text."""
    return _ASCII if text.isascii() else _unicode()


def is_unspaced(run: str) -> bool:
    """Is this run in a script without spaces?"""
    return not run.isascii() and _unspaced().match(run) is not None


def is_simple(run: str) -> bool:
    """Is every character of an unspaced run a unit by itself, and already folded? True of most."""
    return _SIMPLE.fullmatch(run) is not None


def split_clusters(run: str) -> list[tuple[int, int]]:
    """Return the spans of the visible characters of an unspaced run: a base with its marks (か + ゛ is one)."""
    if is_simple(run):
        return [(place, place + 1) for place in range(len(run))]
    return [match.span() for match in _cluster().finditer(run)]


@cache
def _unspaced() -> re.Pattern[str]:
    return re.compile(f"[{_UNSPACED}]")


@cache
def _cluster() -> re.Pattern[str]:
    # Medial and final jamo and the half-width sound marks compose with what stands before them.
    return re.compile(f".[{_ranges(_marks())}\u1160-\u11ff\uff9e\uff9f{_JOINERS}]*", re.DOTALL)


@cache
def _unicode() -> re.Pattern[str]:
    unspaced = _unspaced()
    letters = [c for c in map(chr, range(0x80, 0x10000)) if c.isalnum() and not unspaced.match(c)]
    marks = [c for c in _marks() if not unspaced.match(c)]
    inside = _ranges(marks) + _JOINERS
    # Above the first plane nearly everything below the emoji is letters; a list of every script would slow down
    # every character.
    word = f"[A-Za-z0-9_{_ranges(letters)}{inside}\U00010000-\U0001efff]"
    shape = _SHAPE.format(word=word, apostrophes="’‘＇׳״·‐‑")
    return re.compile(
        f"{shape} | [{_UNSPACED}][{_UNSPACED}{inside}]* | [{_EMOJI}] | [\U0001f1e6-\U0001f1ff]{{1,2}}", re.VERBOSE
    )


@cache
def _marks() -> list[str]:
    return [c for c in map(chr, range(0x300, 0x10000)) if unicodedata.category(c)[0] == "M"]


def _ranges(characters: list[str]) -> str:
    """Sorted characters as the inside of a character class."""
    spans: list[list[int]] = []
    for code in map(ord, characters):
        if spans and spans[-1][1] == code - 1:
            spans[-1][1] = code
        else:
            spans.append([code, code])
    return "".join(f"\\u{first:04x}-\\u{last:04x}" for first, last in spans)
