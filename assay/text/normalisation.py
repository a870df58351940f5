"""Normalises spelling: case, width, ligatures, digits, marks.

    normalise(text)      for exact comparison: NFKC, case folded, white space collapsed, plain apostrophes and hyphens
    fold(word)           for a term: as normalise, without white space and invisible characters, digits in ASCII
    strip_marks(folded)  without the marks of Latin, Greek and Cyrillic letters (é → e, ё → е), and ø → o, ł → l, ı → i

Marks are removed only where people also write the letter without them. й and ї are separate letters and stay, as do
the vowel signs of Devanagari or Thai, which spell the word. Arabic and Hebrew vowel points are optional in writing:
`strip_points(folded)` removes them; both forms are indexed.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from assay.text.combining_marks import limit_marks

# Typographic variants of the two marks that occur inside words; lone surrogates cannot be encoded.
_PLAIN = (
    {ord(c): "'" for c in "’‘ʼ＇‛"} | {ord(c): "-" for c in "‐‑﹣－"} | dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_INVISIBLE = re.compile(
    "[\\s\x00-\x1f\x7f-\x9f\u00ad\u034f\u0640\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]+"
)

# Letters with a stroke or a ligature that Unicode does not decompose.
_STROKES = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t", "ƶ": "z", "ı": "i", "þ": "th", "æ": "ae", "œ": "oe"}
)
# Letters of their own in Cyrillic: й ў ї ѓ ќ, as base and mark.
_LETTERS = frozenset({"и\u0306", "у\u0306", "і\u0308", "г\u0301", "к\u0301"})
_STRIPPABLE = re.compile("[0-9A-Za-zª-ʯḀ-ỿⱠ-ⱿꜢ-ꟿꬰ-ꭩͰ-Ͽἀ-῾Ѐ-ԯᲀ-\u1c8f\ua640-\ua69f]")
_POINTS = re.compile(
    "[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u0652\u0656-\u065f\u0670]+"
)

_ASCII = frozenset(map(chr, range(128)))


def sanitise_query(text: str) -> str:
    """Return a text that every store can hold: NUL and lone surrogates become spaces."""
    return _UNSTORABLE.sub(" ", text)


def normalise(text: str) -> str:
    """Return the form in which phrases and identifiers are compared exactly. normal(normal(x)) == normal(x)."""
    if text.isascii():
        return " ".join(_CONTROL.sub(" ", text).lower().split())
    return " ".join(_CONTROL.sub(" ", _fold_text(text)).split())


def fold(word: str) -> str:
    """Return a word or identifier as a term: no white space, nothing invisible, digits in ASCII."""
    if word.isascii():
        return word.lower()
    folded = _INVISIBLE.sub("", _fold_text(word))
    if folded.isascii():
        return folded
    return "".join([str(unicodedata.decimal(c)) if c.isdecimal() else c for c in folded])


def strip_marks(folded: str) -> str:
    """Return a folded word without the marks of Latin, Greek and Cyrillic letters."""
    if folded.isascii():
        return folded
    characters: list[str] = []
    base = ""
    for c in unicodedata.normalize("NFD", folded):
        if not unicodedata.combining(c):
            base = c
        elif base + c not in _LETTERS and _STRIPPABLE.match(base):
            continue
        characters.append(c)
    return unicodedata.normalize("NFC", "".join(characters)).translate(_STROKES)


def strip_points(folded: str) -> str:
    """Return a folded word without Arabic and Hebrew vowel points and cantillation."""
    return folded if folded.isascii() else _POINTS.sub("", folded)


def contains_normalised(text: str, key: str) -> bool:
    """Return `key in normalise(text)`, for a normalised key.

    Most keys are ASCII without white space, and folding changes only the case of ASCII. So a key in the lower-cased
    text is contained, unless a mark follows that may change its last letter; and a key that is not there is not
    contained, unless folding turns another character into ASCII ("ﬁ", "²", a typographic hyphen).
    """
    if not key.isascii() or " " in key:
        return key in normalise(text)
    lowered = text.lower()
    place = lowered.find(key)
    if text.isascii():
        return place >= 0
    if place < 0:
        return any(map(_folds_to_ascii, set(text).difference(_ASCII))) and key in normalise(text)
    end = place + len(key)
    return lowered[end : end + 1].isascii() or key in normalise(text)


@lru_cache(4096)
def _folds_to_ascii(char: str) -> bool:
    return not _ASCII.isdisjoint(normalise(f"x{char}x")[1:-1])


def _fold_text(text: str) -> str:
    # Folding a letter can leave its marks out of order or a compatibility form behind, so normalise again.
    once = unicodedata.normalize("NFKC", limit_marks(text).translate(_PLAIN)).casefold()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", once).casefold()).translate(_PLAIN)
