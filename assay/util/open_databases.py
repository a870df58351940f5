"""Which SQLite databases this process has open, whoever opened them.

A process that closes any handle of a file loses all its locks on the file, those of its SQLite connections too
(docs/decisions/0070). So a database that is open here must not be read with `open`, under whatever name it is found.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

_DESCRIPTORS = Path("/dev/fd")
_MAGIC = b"SQLite format 3\0"
_PAGE = 512
"""The smallest page of a database; its size is a multiple of it."""


def is_open_database(facts: os.stat_result) -> bool:
    """Is this file a database that this process has open? Asks the descriptors that are there and opens none."""
    if not facts.st_size or facts.st_size % _PAGE:
        return False
    return any(_is_database(int(name), facts) for name in _list_descriptors())


def _list_descriptors() -> list[str]:
    try:
        return [name for name in os.listdir(_DESCRIPTORS) if name.isdigit()]
    except OSError:  # a system without them
        return []


def _is_database(descriptor: int, facts: os.stat_result) -> bool:
    try:
        found = os.fstat(descriptor)
        same = stat.S_ISREG(found.st_mode) and (found.st_dev, found.st_ino) == (facts.st_dev, facts.st_ino)
        return same and os.pread(descriptor, len(_MAGIC), 0) == _MAGIC
    except OSError:  # closed meanwhile, or open for writing alone
        return False
