"""Terms in letters that every tokeniser agrees about."""

from __future__ import annotations

import re

_ODD = re.compile(rb"[^a-y0-9]")


def spelt(term: str) -> str:
    """A term in the letters a to y and digits, with z and two digits for every other byte; no two terms alike."""
    return _ODD.sub(lambda found: b"z%02x" % found[0][0], term.encode()).decode()
