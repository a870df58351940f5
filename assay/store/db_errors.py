"""SQLite's and the system's complaints, in words with a cure."""

from __future__ import annotations

import contextlib
import errno
import sqlite3
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from assay.errors import StoreBusy, StoreError

COMPLAINTS = (sqlite3.Error, OSError, UnicodeEncodeError)
"""What a store's own work may raise; anything else is a bug."""
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def in_words(error: Exception, folder: Path) -> StoreError:
    """The StoreError that says what happened to the store in this folder."""
    said = str(error).lower()
    if isinstance(error, UnicodeEncodeError):
        return StoreError(
            "a name or text holds lone surrogates, which no store can hold", "replace them, e.g. by U+FFFD"
        )
    if isinstance(error, sqlite3.OperationalError):
        if "locked" in said or "busy" in said:
            return StoreBusy(f"{folder} is busy: another process is writing", "try again when it has finished")
        if "full" in said or "disk i/o" in said:
            return StoreError(
                f"the disk of {folder} is full or fails ({error}); nothing of this step was written", "free some space"
            )
        if "readonly" in said or "unable to open" in said:
            return StoreError(f"{folder} cannot be written: {error}", "check the folder's permissions")
        return StoreError(f"{folder}: {error}", "run: assay doctor")
    if isinstance(error, sqlite3.ProgrammingError) and "closed" in said:
        return StoreError(f"{folder} was closed", "open it again")
    if isinstance(error, sqlite3.Error | ValueError):
        return StoreError(f"{folder} is damaged: {error}", "restore a backup: assay restore BACKUP --store NEW")
    if isinstance(error, PermissionError):
        return StoreError(f"{folder} cannot be written: {error}", "check the folder's permissions")
    if isinstance(error, OSError) and error.errno in _FULL:
        return StoreError(f"the disk of {folder} is full: {error}", "free some space")
    return StoreError(f"{folder}: {error}", "check the disk and the folder's permissions")


@contextlib.contextmanager
def translate_errors(folder: Path) -> Iterator[None]:
    """Turn complaints of the block into StoreErrors."""
    try:
        yield
    except COMPLAINTS as error:
        raise in_words(error, folder) from error


class _HasPlace(Protocol):
    @property
    def place(self) -> Path: ...


_S = TypeVar("_S", bound=_HasPlace)
_P = ParamSpec("_P")
_T = TypeVar("_T")


def telling(method: Callable[Concatenate[_S, _P], _T]) -> Callable[Concatenate[_S, _P], _T]:
    """The same for a method that reads, where a value that cannot be read (ValueError) is damage too.

    A function of its own, because `translate_errors` costs a microsecond, which a look-up should not pay twice.
    """

    @wraps(method)
    def wrapped(self: _S, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return method(self, *args, **kwargs)
        except (*COMPLAINTS, ValueError) as error:
            raise in_words(error, self.place) from error

    return wrapped
