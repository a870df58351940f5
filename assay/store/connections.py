"""Connections to a SQLite database: one per thread, closed when the thread ends, never shared with a forked child."""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from assay.errors import StoreError
from assay.store.db_errors import translate_errors

_BUSY_SECONDS = 60.0
WRITER_CACHE, READER_CACHE = (f"PRAGMA cache_size=-{mb << 10}" for mb in (64, 2))
"""Page cache of a writer (64 MB) and of a reader (2 MB). Ids come in no order, so a large add changes pages all over;
with a small cache each would be written out and read back many times. A reader has the system's own cache."""
_LOG_PAGES = 16_384
"""Pages in the write-ahead log before they are moved into the database, which takes as long as writing them."""
_INHERITED: list[object] = []
"""Connections a child process found open when it was forked. Using or closing them there would harm the parent's."""


class _ThreadConnection:
    """A thread's connection; it is closed when the thread ends and this object is collected."""

    __slots__ = ("__weakref__", "db")

    def __init__(self, db: sqlite3.Connection, opened: _OpenConnections) -> None:
        self.db = db
        opened.add(db)
        weakref.finalize(self, opened.close, db)


class _OpenConnections:
    """Every connection of this process that may be open. `close()` holds the lock: closing the last connection
    checkpoints and removes the write-ahead log, and the caller may delete the folder when it returns."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._connections: set[sqlite3.Connection] = set()
        self._lock = threading.RLock()  # a finaliser may run inside our own code

    def add(self, db: sqlite3.Connection) -> None:
        with self._lock:
            self._connections.add(db)

    def close(self, *connections: sqlite3.Connection) -> None:
        """Close these, or all of them."""
        if os.getpid() != self._process:
            return
        with self._lock:
            for db in connections or list(self._connections):
                db.close()
                self._connections.discard(db)


class SqliteConnections:
    """Opens a connection for each thread when it first needs one."""

    def __init__(self, path: Path, readonly: bool, prepare: Callable[[sqlite3.Connection], None]) -> None:
        self._path = path
        self._readonly = readonly
        self._prepare = prepare
        self._reset()

    def _reset(self) -> None:
        self._process = os.getpid()
        self._local = threading.local()
        self._opened = _OpenConnections()

    def get(self) -> sqlite3.Connection:
        """This thread's connection."""
        if os.getpid() != self._process:
            _INHERITED.extend((self._local, self._opened))
            self._reset()
        current: _ThreadConnection | None = getattr(self._local, "connection", None)
        if current is None:
            with translate_errors(self._path.parent):
                current = _ThreadConnection(
                    _open_readonly(self._path) if self._readonly else _open_writable(self._path), self._opened
                )
                self._prepare(current.db)
            self._local.connection = current
        return current.db

    def close(self) -> None:
        """Close every thread's connection; when this returns, none is open."""
        opened = self._opened
        self._reset()
        opened.close()


def _open_writable(path: Path) -> sqlite3.Connection:
    db = _connect(path, "mode=rw")
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=FULL")
    db.execute(f"PRAGMA wal_autocheckpoint={_LOG_PAGES}")
    return db


def _open_readonly(path: Path) -> sqlite3.Connection:
    db = _connect(path, "mode=ro")
    try:
        db.execute("SELECT count(*) FROM setting").fetchone()
    except sqlite3.OperationalError as error:
        # A write-ahead log cannot be shared from a folder we may not write; nobody writes here, so it is read as it is.
        log = path.with_name(f"{path.name}-wal")
        if log.exists() and log.stat().st_size:
            raise StoreError(
                f"{path.parent} is read-only here, and its newest commits are still in {log.name}",
                "copy the whole folder to a place you may write to and open it there once",
            ) from error
        return _connect(path, "immutable=1")
    return db


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    db = sqlite3.connect(
        f"file:{quote(str(path.resolve()))}?{mode}",
        uri=True,
        timeout=_BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    db.execute("PRAGMA mmap_size=268435456")
    return db
