"""CRC-32 of a SQLite file's bytes, read by SQLite itself.

Never with `open`: when a process closes any handle of a file, the system drops all locks that the process has on it,
also those of its SQLite connections. Another process that closes the store then takes itself for the last one, removes
the write-ahead log under them, and their next commits are lost.
"""

from __future__ import annotations

import contextlib
import sqlite3
import zlib
from pathlib import Path
from urllib.parse import quote

import numpy as np


def crc_of_database(path: Path) -> int | None:
    """The checksum of the file without its write-ahead log; None when it cannot be read."""
    address = f"file:{quote(str(path.resolve()))}?immutable=1"  # takes no lock, reads no log, leaves no file behind
    try:
        with contextlib.closing(sqlite3.connect(address, uri=True)) as db:
            content = db.serialize()
            return zlib.crc32(content) if _is_whole(db, content) else None
    except sqlite3.Error:
        return None


def _is_whole(db: sqlite3.Connection, content: bytes) -> bool:
    """False when a page could not be read: `serialize` hands out zeros for it and says nothing.

    Where there are pages of zeros, the online backup reads them again, which does report errors; it changes fields on
    the first page, and the first page is never empty.
    """
    size = db.execute("PRAGMA page_size").fetchone()[0]
    if not len(content) or len(content) % size:
        return False
    pages = np.frombuffer(content, np.uint64).reshape(-1, size // 8)
    if pages.any(axis=1).all():
        return True
    with contextlib.closing(sqlite3.connect(":memory:")) as copy:
        db.backup(copy)
        return content[:16] == b"SQLite format 3\0" and copy.serialize()[size:] == content[size:]
