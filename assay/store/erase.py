"""Erases rows from every version and from the bytes of the database file and its log; backups too."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from assay.errors import StoreError
from assay.store.writer import sweep_staged

if TYPE_CHECKING:
    from assay.store.sqlite import SqliteStore

CHECKPOINT_SECONDS = 5.0
"""Seconds to wait for readers of an older version, which keep the write-ahead log from being emptied."""


def erase(db: sqlite3.Connection, doc_ids: Iterable[str]) -> int:
    """Remove every row of documents, live or dead, with its vector; how many. Within the caller's transaction.

    The index must already be without them: a reader learns of a deletion from the deleted row.
    """
    gone = 0
    for name in doc_ids:
        db.execute("DELETE FROM vector WHERE seq IN (SELECT seq FROM chunk WHERE doc_id = ?)", (name,))
        db.execute("DELETE FROM file WHERE origin IN (SELECT origin FROM chunk WHERE doc_id = ?)", (name,))
        gone += db.execute("DELETE FROM chunk WHERE doc_id = ?", (name,)).rowcount
    sweep_staged(db)
    live = "SELECT count(*) FROM chunk WHERE died IS NULL"  # a backup may hold them alive
    db.execute(f"UPDATE setting SET value = ({live}) WHERE key = 'live'")
    return gone


def rewrite(db: sqlite3.Connection) -> str:
    """Rewrite the file without its free pages and empty its log; "" or the reason why something may linger."""
    try:
        db.execute("VACUUM")
    except sqlite3.OperationalError as error:
        return f"its free pages could not be removed ({error})"
    until = time.monotonic() + CHECKPOINT_SECONDS
    while db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
        if time.monotonic() > until:
            return "its write-ahead log could not be emptied, for somebody is reading an older moment"
        time.sleep(0.05)
    return ""


def erase_rows(
    store: SqliteStore,
    doc_ids: Sequence[str],
    note: str,
    erased: list[str],
    unreached: list[str],
    before: Callable[[], None] = lambda: None,
) -> None:
    """Erase documents from a store, call `before`, rewrite the file; append what happened to the lists."""
    name = store.database(store.place).name
    store.db.execute("PRAGMA secure_delete = ON")
    with store.write(note) as writer:
        gone = erase(store.db, doc_ids)
        writer.erased = True
    before()
    lingers = rewrite(store.db)
    if lingers:
        unreached.append(f"{name}: {lingers}")
    rows = "1 row" if gone == 1 else f"{gone:,} rows"
    erased.append(f"{name}: {rows} of all versions, the file written anew")


def shrink(db: sqlite3.Connection, gone: int) -> None:
    """Give the space of forgotten rows back to the disk."""
    try:
        db.execute("VACUUM")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.OperationalError as error:
        raise StoreError(
            f"{gone} chunks are forgotten, but their space could not be freed: {error}", "free some disk, run it again"
        ) from error
