"""How many tokens of a budget does a text take? One tokeniser for every budget: o200k_base, offline.

Special tokens written in a text count as the ordinary characters they are. A lone surrogate counts as U+FFFD,
the character it becomes in any valid encoding. There is no batch call: the encoder holds the interpreter lock,
so a pool of threads is slower than a loop.
"""

from __future__ import annotations

from functools import cache
from typing import Protocol

TOKENISER = "o200k_base"


class _Encoder(Protocol):
    def count(self, text: str) -> int: ...


def count_tokens(text: str) -> int:
    """Tokens of a text; 0 for the empty one. Linear time, any string, safe to call from many threads."""
    try:
        return _encoder().count(text)
    except UnicodeEncodeError:
        return _encoder().count(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


@cache
def _encoder() -> _Encoder:
    # Half a second to import, so only when the first text is counted. The public class around this encoder would
    # also read the vocabulary a second time, into Python objects, and counts by building the list of ids.
    from bpe_openai._bindings import tokenizer_for_encoding

    encoder: _Encoder = tokenizer_for_encoding(TOKENISER)
    return encoder
