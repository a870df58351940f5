"""How many bytes lie there? Asked beside processes that write and sweep: what vanishes meanwhile weighs nothing."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


def weight(*paths: Path) -> int:
    """Bytes of these files, and of everything under these folders; 0 for what is not there."""
    total = 0
    for file in _files(paths):
        with contextlib.suppress(FileNotFoundError):
            total += os.stat(file).st_size
    return total


def _files(paths: tuple[Path, ...]) -> Iterator[str]:
    for path in paths:
        if not path.is_dir():
            yield str(path)
        for folder, _, names in os.walk(path):  # passes over folders that are gone
            yield from (os.path.join(folder, name) for name in names)
