"""Checksums of files, read in parts: XXH3 of what is written now, CRC-32 of what earlier releases wrote.

They find damage. Somebody who changes a file on purpose can write a matching checksum of either kind.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from xxhash import xxh3_64, xxh3_64_intdigest

READ = 1 << 16
"""Bytes read at a time: they stay in the processor's cache, and Python keeps the memory for the next part. Larger parts
come from fresh pages of the system, which cost four times as much as the checksum."""
PAUSE_AFTER = 1 << 20
"""Bytes after which a reader that is in no hurry pauses."""


@dataclass(frozen=True, slots=True)
class ChecksumAlgorithm:
    """One kind of checksum, by the name that manifests give it."""

    name: str
    dtype: str
    """Its type in a file of checksums."""
    of_bytes: Callable[[bytes | memoryview], int]
    of_file: Callable[[Path, Callable[[], None]], int]
    """The checksum of a whole file; the second argument is called after each megabyte."""


def crc_of_file(path: Path, pause: Callable[[], None] = lambda: None) -> int:
    """The CRC-32 of the whole file; `pause` is called after each megabyte."""
    total = 0
    for part in _read_parts(path, pause):
        total = zlib.crc32(part, total)
    return total


def xxh3_of_file(path: Path, pause: Callable[[], None] = lambda: None) -> int:
    """The 64 bits of XXH3 of the whole file; `pause` is called after each megabyte."""
    total = xxh3_64()
    for part in _read_parts(path, pause):
        total.update(part)
    return total.intdigest()


def _read_parts(path: Path, pause: Callable[[], None]) -> Iterator[bytes]:
    since_pause = 0
    with path.open("rb", buffering=0) as file:
        while part := file.read(READ):
            yield part
            since_pause += len(part)
            if since_pause >= PAUSE_AFTER:
                pause()
                since_pause = 0
    if since_pause:
        pause()


XXH3 = ChecksumAlgorithm("xxh3", "<u8", xxh3_64_intdigest, xxh3_of_file)
CRC32 = ChecksumAlgorithm("crc32", "<u4", zlib.crc32, crc_of_file)
ALGORITHMS = (XXH3, CRC32)
