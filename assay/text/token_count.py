"""Counts the tokens of a budget that a text takes, with one tokeniser for every budget: o200k_base, offline.

Special tokens written in a text count as the ordinary characters they are. A lone surrogate counts as U+FFFD,
the character it becomes in any valid encoding. There is no batch call: the encoder holds the interpreter lock,
so a pool of threads is slower than a loop.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from threading import Lock
from typing import Any, Protocol

from assay.errors import AssayError, install_hint

TOKENISER = "o200k_base"

_NAME = "bpe_openai._bindings"
_LOADING = Lock()


class _Encoder(Protocol):
    def count(self, text: str) -> int: ...


def count_tokens(text: str) -> int:
    """Return the tokens of a text; 0 for the empty one. Linear time, any string, safe to call from many threads."""
    try:
        return _encoder().count(text)
    except UnicodeEncodeError:
        return _encoder().count(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


@cache
def _encoder() -> _Encoder:
    encoder: _Encoder = _bindings().tokenizer_for_encoding(TOKENISER)
    return encoder


def _bindings() -> Any:
    """Import the compiled half of bpe_openai without its Python half.

    The package's own import parses every vocabulary into Python objects (half a second, tens of MB, a deprecation
    warning) which counting never reads. It is registered under its own name, so that a program that imports the
    package later shares it.
    """
    with _LOADING:  # a compiled module may be initialised only once
        if _NAME not in sys.modules:
            package = find_spec("bpe_openai")
            spec = PathFinder.find_spec(_NAME, package.submodule_search_locations) if package else None
            if spec is None or spec.loader is None:
                raise AssayError("counting tokens needs the package bpe-openai", install_hint())
            module = module_from_spec(spec)
            spec.loader.exec_module(module)
            sys.modules[_NAME] = module
        return sys.modules[_NAME]
