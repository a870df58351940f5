"""Advisory file locks between processes; the system drops them when a process dies, so none is ever stale."""

from __future__ import annotations

import contextlib
import fcntl
import os
import weakref
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def try_lock_file(path: Path) -> Iterator[bool]:
    """Hold a lock while the block runs; yields False at once when another process holds it."""
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


@contextlib.contextmanager
def lock_file(path: Path) -> Iterator[None]:
    """Hold a lock while the block runs; waits while another process holds it."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Like `lock_file`, on the folder itself: leaves no lock file behind."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


class SharedFileLock:
    """Marks a file as in use for as long as this object lives; OSError when it is missing or being removed."""

    def __init__(self, path: Path) -> None:
        handle = os.open(path, os.O_RDONLY)
        self._close = weakref.finalize(self, os.close, handle)
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            self._close()
            raise


@contextlib.contextmanager
def lock_if_unused(path: Path) -> Iterator[bool]:
    """Hold an exclusive lock while the block runs; yields False at once when the file is marked as in use."""
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield True
    except FileNotFoundError:
        yield True
    except BlockingIOError:
        yield False
