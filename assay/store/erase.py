"""Erasing: rows go from every version, and no byte of them stays in the file or in its log. Works on backups too."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Sequence

PATIENCE = 5.0
"""Seconds to wait for readers of an older moment, which keep the write-ahead log from being emptied."""


def texts_of(db: sqlite3.Connection, doc_ids: Sequence[str]) -> list[str]:
    """Every text that documents have, or had in any version."""
    found = [db.execute("SELECT DISTINCT text FROM chunk WHERE doc_id = ?", (name,)) for name in doc_ids]
    return sorted({text for rows in found for (text,) in rows})


def erase(db: sqlite3.Connection, doc_ids: Iterable[str]) -> int:
    """Remove every row of documents, dead or alive, with its vector; how many. Within the caller's transaction.

    The index must already be without them: a reader learns of a death from the row that died.
    """
    gone = 0
    for name in doc_ids:
        db.execute("DELETE FROM vector WHERE seq IN (SELECT seq FROM chunk WHERE doc_id = ?)", (name,))
        db.execute("DELETE FROM file WHERE origin IN (SELECT origin FROM chunk WHERE doc_id = ?)", (name,))
        gone += db.execute("DELETE FROM chunk WHERE doc_id = ?", (name,)).rowcount
    return gone


def rewrite(db: sqlite3.Connection) -> str:
    """Write the file anew without its free pages and empty its log; "" or the reason why something may linger."""
    try:
        db.execute("VACUUM")
    except sqlite3.OperationalError as error:
        return f"its free pages could not be removed ({error})"
    until = time.monotonic() + PATIENCE
    while db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
        if time.monotonic() > until:
            return "its write-ahead log could not be emptied, for somebody is reading an older moment"
        time.sleep(0.05)
    return ""
