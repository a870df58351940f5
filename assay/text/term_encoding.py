"""Encodes terms in letters and digits that no tokeniser splits."""

from __future__ import annotations

import re

_OTHER = re.compile(rb"[^a-y0-9]")


def encode_term(term: str) -> str:
    """Return a term in the letters a to y and digits, with z and two hex digits for every other byte; injective."""
    return _OTHER.sub(lambda match: b"z%02x" % match[0][0], term.encode()).decode()
