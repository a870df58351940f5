"""Counts bytes on disk while other processes write and delete; a file that vanishes meanwhile counts 0."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


def count_bytes(*paths: Path) -> int:
    """Bytes of these files, and of everything under these folders; 0 for what is not there."""
    total = 0
    for file in _walk_files(paths):
        with contextlib.suppress(FileNotFoundError):
            total += os.stat(file).st_size
    return total


def _walk_files(paths: tuple[Path, ...]) -> Iterator[str]:
    for path in paths:
        if not path.is_dir():
            yield str(path)
        for folder, _, names in os.walk(path):  # passes over folders that are gone
            yield from (os.path.join(folder, name) for name in names)
