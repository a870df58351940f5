"""CRC-32 of a file, read in parts."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path

READ = 1 << 20
"""Bytes read at a time."""


def crc_of_file(path: Path, pause: Callable[[], None] = lambda: None) -> int:
    """The checksum of the whole file; `pause` is called after each megabyte."""
    total = 0
    with path.open("rb", buffering=0) as file:
        while part := file.read(READ):
            total = zlib.crc32(part, total)
            pause()
    return total
