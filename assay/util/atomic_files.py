"""Files that are whole or not there: a reader never sees half of one, and of two writers the later wins whole."""

from __future__ import annotations

import contextlib
import os
import stat
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def aside(path: Path) -> Iterator[str]:
    """The name of a file to write beside its place; it is made durable, then put there. What was there before stays
    until then, and longer for whoever has it open or mapped.

    A link stays a link: what it points to is written. Who may read the file is as before, or as the umask says.
    """
    place = os.path.realpath(path)
    folder, base = os.path.split(place)
    name = os.path.join(folder, f".{base}.{uuid.uuid4().hex[:8]}.part")
    try:
        handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            with contextlib.suppress(FileNotFoundError):
                os.fchmod(handle, stat.S_IMODE(os.stat(place).st_mode))
            yield name
            os.fsync(handle)
            os.replace(name, place)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        finally:
            os.close(handle)
    except OSError as error:
        if error.filename == name:  # which nobody gave us
            error.filename = str(path)
        raise


@contextlib.contextmanager
def whole(path: Path) -> Iterator[IO[bytes]]:
    """A file to write that is put into its place when it is whole; a device or a pipe is written as it comes."""
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    with aside(path) as name, open(name, "wb") as file:
        yield file


def write_text(path: Path, text: str) -> None:
    """Write a text as a whole file, making its folder where it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole(path) as file:
        file.write(text.encode("utf-8"))
