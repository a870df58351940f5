"""When are two spellings the same? Case, width, ligatures, digits, marks.

    normal(text)   for exact comparison: NFKC, case folded, white space collapsed, plain apostrophes and hyphens
    fold(word)     for a term: as normal, without white space and invisible characters, digits in ASCII
    bare(folded)   without the marks of Latin, Greek and Cyrillic letters (é → e, ё → е), and ø → o, ł → l, ı → i

Marks go only where they modify a letter that readers also write without them. й and ї are letters of their own
and stay, as do the vowel signs of Devanagari or Thai, which spell the word. Arabic and Hebrew vowel points are
optional in writing: `unpointed(folded)` is the form without them, which is indexed beside the pointed one.
"""

from __future__ import annotations

import re
import unicodedata

from assay.text.marks import bounded

# Typographic variants of the two marks that stand inside words; tatweel only stretches a line; no text holds
# a lone surrogate once it is encoded.
_PLAIN = (
    {ord(c): "'" for c in "’‘ʼ＇‛"} | {ord(c): "-" for c in "‐‑﹣－"} | dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_UNHELD = re.compile("[\0\ud800-\udfff]")
_INVISIBLE = re.compile(
    "[\\s\x00-\x1f\x7f-\x9f\u00ad\u034f\u0640\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]+"
)

# Letters with a stroke or a ligature that Unicode does not decompose.
_STROKES = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t", "ƶ": "z", "ı": "i", "þ": "th", "æ": "ae", "œ": "oe"}
)
# Letters of their own in Cyrillic: й ў ї ѓ ќ, as base and mark.
_LETTERS = frozenset({"и\u0306", "у\u0306", "і\u0308", "г\u0301", "к\u0301"})
_SHEDDING = re.compile("[0-9A-Za-zª-ʯḀ-ỿⱠ-ⱿꜢ-ꟿꬰ-ꭩͰ-Ͽἀ-῾Ѐ-ԯᲀ-\u1c8f\ua640-\ua69f]")
_POINTS = re.compile(
    "[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u0652\u0656-\u065f\u0670]+"
)


def askable(text: str) -> str:
    """Any text is a legal query; what no store can hold (NUL, lone surrogates) becomes a space."""
    return _UNHELD.sub(" ", text)


def normal(text: str) -> str:
    """The form in which phrases and identifiers are compared exactly. normal(normal(x)) == normal(x)."""
    if text.isascii():
        return " ".join(_CONTROL.sub(" ", text).lower().split())
    return " ".join(_CONTROL.sub(" ", _folded(text)).split())


def fold(word: str) -> str:
    """A word or identifier as a term: no white space, nothing invisible, digits in ASCII."""
    if word.isascii():
        return word.lower()
    folded = _INVISIBLE.sub("", _folded(word))
    if folded.isascii():
        return folded
    return "".join([str(unicodedata.decimal(c)) if c.isdecimal() else c for c in folded])


def bare(folded: str) -> str:
    """A folded word without the marks of Latin, Greek and Cyrillic letters."""
    if folded.isascii():
        return folded
    kept: list[str] = []
    base = ""
    for c in unicodedata.normalize("NFD", folded):
        if not unicodedata.combining(c):
            base = c
        elif base + c not in _LETTERS and _SHEDDING.match(base):
            continue
        kept.append(c)
    return unicodedata.normalize("NFC", "".join(kept)).translate(_STROKES)


def unpointed(folded: str) -> str:
    """A folded word without Arabic and Hebrew vowel points and cantillation."""
    return folded if folded.isascii() else _POINTS.sub("", folded)


def _folded(text: str) -> str:
    # Folding a letter can leave its marks out of order or a compatibility form behind, so normalise again.
    once = unicodedata.normalize("NFKC", bounded(text).translate(_PLAIN)).casefold()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", once).casefold()).translate(_PLAIN)
