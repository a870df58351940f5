"""Is this known already? A text is a duplicate when meaning and words agree, and nothing in it tells the two apart.

    cosine  ≥ COSINE     of the two vectors (of the first chunks, for texts of several)
    overlap ≥ OVERLAP    |A ∩ B| / |A ∪ B| of the two texts' terms, stems without closed-class words
    told_apart is ""     the same numbers, both or neither negate, and not a word exchanged for another

Neither of the first two is enough: "the demo is on Monday" and "… on Friday" have a cosine of .91. The third keeps that
true of longer texts, in which one word weighs little. The order of words is not read. Where a store has no model, only
the words are left, and they must all agree. Measured on a labelled table in tests/memory.
"""

from __future__ import annotations

import re
from collections.abc import Set

import numpy as np

from assay.memory.types import MemoryEntry, NearDuplicate
from assay.memory.window import Window
from assay.select.near import cosines
from assay.text.analyse import Analyser
from assay.text.fold import normal
from assay.types import Query, Rows, Vector

COSINE = 0.85
OVERLAP = 0.7
OVERLAP_ALONE = 1.0
"""Without a model."""
LOOKED_AT = 8
"""How many neighbours by meaning, and how many by words."""
SHOWN = 0.5
"""From this cosine or overlap on, a neighbour is worth mentioning."""

_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|without|neither|nor|cannot|can't|\w+n't|stopped|quit|longer)\b"
    r"|[不没沒無无未別别勿]|ない|ません|않|없|아니"
)


def near(window: Window, text: str, vector: Vector | None, at: float) -> tuple[NearDuplicate, ...]:
    """Current memories of the window's scopes much like a text, most alike first.

    A superseded or expired memory is none of them: to say an old thing again is news.
    """
    analyser = window.view.analyser
    found: dict[str, NearDuplicate] = {}
    rows = _neighbours(window, text, vector, at)
    vectors = window.view.vectors(rows).astype(np.float64)
    for chunk, theirs in zip(window.view.chunks(rows), vectors, strict=True):
        entry = window.whole(chunk)
        if entry.superseded_by or (entry.id in found and chunk.meta["start"]):
            continue
        cosine = float(cosines(theirs[None], vector.astype(np.float64))[0]) if vector is not None else None
        found[entry.id] = judged(entry, text, cosine, analyser)
    told = [one for one in found.values() if max(one.cosine or 0.0, one.overlap) >= SHOWN]
    return tuple(sorted(told, key=lambda one: (not one.duplicate, -(one.cosine or 0.0), -one.overlap, one.entry.id)))


def _neighbours(window: Window, text: str, vector: Vector | None, at: float) -> Rows:
    """Rows near a text by meaning and by words, each once."""
    asked = Query(text=text, vector=vector, where=window.filter(*window.asked(None, (), at)))
    by_words = window.view.lexical(asked, LOOKED_AT).rows
    by_meaning = window.view.nearest(asked, LOOKED_AT).rows if vector is not None else by_words[:0]
    rows: Rows = np.unique(np.concatenate([by_meaning, by_words]).astype(np.int64))
    return rows


def judged(entry: MemoryEntry, text: str, cosine: float | None, analyser: Analyser) -> NearDuplicate:
    """Does a memory already say this text, and why (not)?"""
    known, new = set(analyser.query_terms(entry.text)), set(analyser.query_terms(text))
    overlap = shared(known, new)
    same = normal(entry.text).split() == normal(text).split()
    apart = "" if same else told_apart(entry.text, text) or _exchanged(known, new)
    if same or apart:
        duplicate, why = same, apart or "the same words"
    elif cosine is None:
        duplicate, why = overlap >= OVERLAP_ALONE, f"overlap {overlap:.2f}, and no model to compare meanings"
    else:
        duplicate = cosine >= COSINE and overlap >= OVERLAP
        why = f"cosine {cosine:.2f} and overlap {overlap:.2f}; a duplicate has {COSINE:g} and {OVERLAP:g}"
    return NearDuplicate(entry, cosine, overlap, duplicate, why, tuple(sorted(new - known)))


def shared(these: Set[str], those: Set[str]) -> float:
    """|A ∩ B| / |A ∪ B|; 0 when both are empty."""
    return len(these & those) / len(these | those) if these | those else 0.0


def told_apart(one: str, other: str) -> str:
    """Why two texts cannot say the same, however alike they are: another number, or one of them denies; else ""."""
    a, b = normal(one), normal(other)
    numbers = set(_NUMBER.findall(a)) ^ set(_NUMBER.findall(b))
    if numbers:
        return f"the numbers differ: {', '.join(sorted(numbers)[:4])}"
    if bool(_NEGATION.search(a)) != bool(_NEGATION.search(b)):
        return "one of them negates"
    return ""


def _exchanged(known: Set[str], new: Set[str]) -> str:
    """Each has a word that the other lacks: Monday for Friday, perhaps; else ""."""
    if known - new and new - known:
        return f"each has words of its own: {min(known - new)}, {min(new - known)}"
    return ""
