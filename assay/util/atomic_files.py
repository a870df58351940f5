"""Atomic file writes: a reader sees the old file or the new one, never a part; of two writers the later wins."""

from __future__ import annotations

import contextlib
import os
import stat
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def atomic_path(path: Path) -> Iterator[str]:
    """Give the name of a temporary file in the same folder; at the end it is synced and renamed to `path`.

    The old file stays until then, and longer for a process that has it open or mapped. A link stays a link: its target
    is written. Permissions are those of the old file, else those of the umask.
    """
    target = os.path.realpath(path)
    folder, base = os.path.split(target)
    name = os.path.join(folder, f".{base}.{uuid.uuid4().hex[:8]}.part")
    try:
        handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            with contextlib.suppress(FileNotFoundError):
                os.fchmod(handle, stat.S_IMODE(os.stat(target).st_mode))
            yield name
            os.fsync(handle)
            os.replace(name, target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        finally:
            os.close(handle)
    except OSError as error:
        if error.filename == name:  # the caller knows only `path`
            error.filename = str(path)
        raise


@contextlib.contextmanager
def atomic_writer(path: Path) -> Iterator[IO[bytes]]:
    """Give a file to write that replaces `path` when the block ends; a device or a pipe is written directly."""
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    with atomic_path(path) as name, open(name, "wb") as file:
        yield file


def write_text(path: Path, text: str) -> None:
    """Write a text atomically; create its folder where it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_writer(path) as file:
        file.write(text.encode("utf-8"))
