"""Logs of SQLite that lie beside a database: a write-ahead log, its index, a rollback journal.

SQLite pairs them with the database by their names alone. A log whose database was deleted, or replaced by another file,
is read into whatever bears the name next: chunks of the old store come back, or pages of both are mixed.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path

from assay.store.locks import lock_folder

LOGS = ("-wal", "-shm", "-journal")


def link_new_database(draft: Path, path: Path) -> None:
    """Give a finished database its name; FileExistsError when there is one of that name. Logs that a deleted database
    left under the name are removed first."""
    if not _find_logs(path):
        os.link(draft, path)  # unlike rename, fails when another process made one first
        return
    with lock_folder(path.parent):  # else the log that we remove may be that of a database made meanwhile
        if not path.exists():
            _remove_logs(path)
        os.link(draft, path)


def replace_database(draft: Path, path: Path) -> None:
    """Put a finished database in the place of another one, whose logs must not be read into it."""
    if path.exists() and _find_logs(path):
        with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path)) as db:
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()  # takes up the logs, so the old file is whole
    _remove_logs(path)
    os.replace(draft, path)


def _find_logs(path: Path) -> list[Path]:
    beside = (path.with_name(path.name + suffix) for suffix in LOGS)
    return [log for log in beside if log.exists()]


def _remove_logs(path: Path) -> None:
    for log in _find_logs(path):
        log.unlink(missing_ok=True)
