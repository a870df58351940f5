"""Translates errors of SQLite and of the system into StoreErrors with a cure."""

from __future__ import annotations

import contextlib
import errno
import sqlite3
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from assay.errors import StoreBusy, StoreError

DATABASE_ERRORS = (sqlite3.Error, OSError, UnicodeEncodeError)
"""Errors that a store's own code may meet; anything else is a bug."""
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def to_store_error(error: Exception, folder: Path) -> StoreError:
    """The StoreError that says what happened to the store in this folder."""
    message = str(error).lower()
    if isinstance(error, UnicodeEncodeError):
        return StoreError(
            "a name or text holds lone surrogates, which no store can hold", "replace them, e.g. by U+FFFD"
        )
    if isinstance(error, sqlite3.OperationalError):
        if "locked" in message or "busy" in message:
            return StoreBusy(f"{folder} is busy: another process is writing", "try again when it has finished")
        if "full" in message or "disk i/o" in message:
            return StoreError(
                f"the disk of {folder} is full or fails ({error}); nothing of this step was written", "free some space"
            )
        if "unable to open" in message:
            return StoreError(
                f"{folder} cannot be opened: {error}", "check the permissions of the folder and its files"
            )
        if "readonly" in message:
            return StoreError(f"{folder} cannot be written: {error}", "check the folder's permissions")
        return StoreError(f"{folder}: {error}", "run: assay doctor")
    if isinstance(error, sqlite3.ProgrammingError) and "closed" in message:
        return StoreError(f"{folder} was closed", "open it again")
    if isinstance(error, sqlite3.Error | ValueError):
        return StoreError(f"{folder} is damaged: {error}", "restore a backup: assay restore BACKUP --store NEW")
    if isinstance(error, PermissionError):
        what = f"{error.filename or folder} cannot be opened or written: {error.strerror or error}"
        return StoreError(what, "check the permissions of the folder and its files")
    if isinstance(error, OSError) and error.errno in _FULL:
        return StoreError(f"the disk of {folder} is full: {error}", "free some space")
    return StoreError(f"{folder}: {error}", "check the disk and the folder's permissions")


@contextlib.contextmanager
def translate_errors(folder: Path) -> Iterator[None]:
    """Turn errors of the block into StoreErrors."""
    try:
        yield
    except DATABASE_ERRORS as error:
        raise to_store_error(error, folder) from error


class _HasPlace(Protocol):
    @property
    def place(self) -> Path: ...


_S = TypeVar("_S", bound=_HasPlace)
_P = ParamSpec("_P")
_T = TypeVar("_T")


def translate_read_errors(method: Callable[Concatenate[_S, _P], _T]) -> Callable[Concatenate[_S, _P], _T]:
    """Decorate a method that reads: like `translate_errors`, but a value that cannot be decoded (ValueError) is damage
    too.

    A decorator of its own, because entering `translate_errors` costs a microsecond per look-up.
    """

    @wraps(method)
    def wrapped(self: _S, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return method(self, *args, **kwargs)
        except (*DATABASE_ERRORS, ValueError) as error:
            raise to_store_error(error, self.place) from error

    return wrapped
