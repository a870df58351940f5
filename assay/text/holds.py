"""Does a text hold a key letter for letter? Always what `key in normal(text)` says, mostly without folding the text."""

from __future__ import annotations

from functools import lru_cache

from assay.text.fold import normal

_ASCII = frozenset(map(chr, range(128)))


def holds(text: str, key: str) -> bool:
    """key in normal(text), for a key in normal form.

    Most keys are ASCII without white space, and folding leaves ASCII as it is but for its case. So what stands in the
    lower-cased text is held, unless a mark follows that may change its last letter; and what does not stand there is
    not held, unless folding makes ASCII of something else ("ﬁ", "²", a typographic hyphen).
    """
    if not key.isascii() or " " in key:
        return key in normal(text)
    lowered = text.lower()
    place = lowered.find(key)
    if text.isascii():
        return place >= 0
    if place < 0:
        return any(map(_makes_ascii, set(text).difference(_ASCII))) and key in normal(text)
    end = place + len(key)
    return lowered[end : end + 1].isascii() or key in normal(text)


@lru_cache(4096)
def _makes_ascii(char: str) -> bool:
    return not _ASCII.isdisjoint(normal(f"x{char}x")[1:-1])
