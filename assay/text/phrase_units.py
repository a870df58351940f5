"""Splits a text into the units that phrases are compared with.

    split_units(text)  words, folded; in Chinese, Japanese and Korean every character
    weigh_text(text)   length in Latin characters; a Chinese, Japanese or Korean one counts as CJK_WEIGHT of them
    is_emoji(text)     nothing but emoji; digits are none, keycaps are

Only the first READ characters are read, so the work is bounded whatever is sent: normalising alone would take time
in the square of a run of combining marks.
"""

from __future__ import annotations

import re

from assay.text.normalisation import normalise
from assay.text.tokeniser import find_runs, is_unspaced

MAX_READ = 4_000
"""Characters of a text that are read."""
CJK_WEIGHT = 2.5
"""The memory pipeline counts 6 Chinese characters as 15 Latin ones: 15 / 6."""

Units = tuple[str, ...]

_CJK = re.compile(
    "[\u1100-\u11ff\u2e80-\u2fd5\u3005-\u3007\u3041-\u30ff\u3131-\u318e\u3400-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff]"
)
_REPEATED = re.compile(r"([^\W\d_])\1{2,}")  # yesss, hiii
_QUOTES = str.maketrans("", "", "'")
_EMOJI = re.compile(
    "(?:[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u231a-\u23ff\u25aa-\u25fe\u2600-\u27bf\u2934\u2935\u2b05-\u2b55"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001faff\u200d\ufe0e\ufe0f\U000e0020-\U000e007f]|[0-9#*]\ufe0f?\u20e3|\\s)+"
)


def split_units(text: str) -> Units:
    """Return the units of a text, in order; apostrophes, punctuation and emoji are left out, yesss is yes."""
    units: list[str] = []
    plain = normalise(text[:MAX_READ]).translate(_QUOTES)
    has_repeats = _REPEATED.search(plain) is not None
    for run in find_runs(plain):
        if is_unspaced(run):
            units.extend(run)
        elif run.isalnum() or any(map(str.isalnum, run)):
            units.append(_REPEATED.sub(r"\1", run) if has_repeats else run)
    return tuple(units)


def join_units(units: Units) -> str:
    """Return units as readable text."""
    text = ""
    for unit in units:
        glued = not text or (_CJK.match(unit) and _CJK.match(text[-1]))
        text += unit if glued else f" {unit}"
    return text


def weigh_text(text: str) -> float:
    """Return the length of a text, with white space collapsed."""
    compact = " ".join(text[:MAX_READ].split())
    return len(compact) + (CJK_WEIGHT - 1.0) * len(_CJK.findall(compact))


def is_emoji(text: str) -> bool:
    """Is it made of emoji and white space, with at least one emoji?"""
    return bool(text.strip()) and _EMOJI.fullmatch(text[:MAX_READ]) is not None
