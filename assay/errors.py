"""Errors and reasons. Each says what is wrong, where, and what cures it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

E = TypeVar("E", bound="AssayError")


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something is missing or did not run, and what cures it ("" where nothing does)."""

    text: str
    cure: str = ""

    def __str__(self) -> str:
        return f"{self.text}; cure: {self.cure}" if self.cure else self.text

    def as_error(self, kind: type[E]) -> E:
        return kind(self.text, self.cure)


def install_hint(extra: str = "") -> str:
    """How to install Assay, with one of its extras: from a checkout, from a wheel and with uv."""
    checkout, named = ("'.[" + extra + "]'", f" 'assay-retrieval[{extra}]'") if extra else (".", "")
    return (
        f"in a checkout: pip install -e {checkout} · from a wheel: pip install assay_retrieval-*.whl{named} · "
        f"with uv: uv tool install {checkout}"
    )


class AssayError(Exception):
    """The root of every error that Assay raises on purpose.

    `cure` is the sentence a person can act on; the command line prints it on its own line.
    """

    exit_code = 1

    def __init__(self, message: str, cure: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.cure = cure

    def __str__(self) -> str:
        return f"{self.message}\n  cure: {self.cure}" if self.cure else self.message

    @property
    def reason(self) -> Reason:
        """Message and cure as a value, for a step that is skipped because of this error."""
        return Reason(self.message, self.cure)


class ConfigError(AssayError):
    """A pipeline, a preset or a setting cannot work as written."""

    exit_code = 2


class QueryError(AssayError):
    """A query cannot be understood: a bad filter, a bad date, a vector of the wrong length."""

    exit_code = 2


class StoreError(AssayError):
    """The store cannot do what was asked: missing, of a newer format, read-only, damaged."""

    exit_code = 3


class MissingStore(StoreError):
    """There is no store at an address."""

    def __init__(self, place: object) -> None:
        super().__init__(f"there is no store at {place}", f"make one: assay add ./my-docs --store {place}")
        self.place = place


class StoreBusy(StoreError):
    """Another process holds the write lock for longer than we were willing to wait."""


class OutOfTime(AssayError):
    """A step was skipped, or cancelled, to keep to its time."""

    exit_code = 3


class ModelError(AssayError):
    """An embedding model or reranker is missing, damaged, or not the one the store was made with."""

    exit_code = 4


class MissingExtra(AssayError):
    """A part of Assay needs a package that is not installed."""

    exit_code = 5

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs a package that is not installed", install_hint(extra))
        self.extra = extra


class BadFile(AssayError):
    """One file could not be read; the others go on."""


class BadRecord(AssayError):
    """A record handed to `add` cannot become a document; the message names its field."""

    exit_code = 2


class LawBroken(AssayError):
    """A component broke one of the laws of the pipeline; its answer is not to be trusted."""

    exit_code = 70


class RenamedWarning(FutureWarning):
    """A config uses an old name that still works; the message gives the present one."""


def nearest(name: str, known: Iterable[str]) -> str:
    """A cure for a misspelt name: the closest real one, then the whole list."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    close = close or [one for one in names if name and (name.startswith(one) or one.startswith(name))]
    listed = ", ".join(names) if names else "none"
    return f"did you mean {close[0]!r}? known: {listed}" if close else f"known: {listed}"
