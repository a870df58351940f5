"""Files that are whole or not there: a reader never sees half of one, and of two writers the later wins whole."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def aside(path: Path) -> Iterator[str]:
    """The name of a file to write beside its place; it is made durable, then put there. What was there before stays
    until then, and longer for whoever has it open or mapped."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        yield name
        os.fsync(handle)
        os.chmod(name, 0o644)  # mkstemp's 0600 is for secrets
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    finally:
        os.close(handle)


@contextlib.contextmanager
def whole(path: Path) -> Iterator[IO[bytes]]:
    """A file to write that is put into its place when it is whole."""
    with aside(path) as name, open(name, "wb") as file:
        yield file


def write_text(path: Path, text: str) -> None:
    """Write a text as a whole file, making its folder where it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole(path) as file:
        file.write(text.encode("utf-8"))
