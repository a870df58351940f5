"""Connections to the database: one per thread, closed when the thread ends, never shared with a forked child."""

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
WRITING, READING = (f"PRAGMA cache_size=-{mb << 10}" for mb in (64, 2))
"""How many MB of pages a connection holds. Ids come in no order, so a large add changes pages all over, and with too
little room each of them would be written out and read back many times; a reader has the system's own cache."""
_LOG_PAGES = 16_384
"""Pages in the write-ahead log before they are moved into the database, which takes as long as writing them."""
_INHERITED: list[object] = []
"""Connections a child process found open when it was forked. Using or closing them there would harm the parent's."""


class _Held:
    """A thread's connection; when the thread ends this goes, and the connection is closed."""

    __slots__ = ("__weakref__", "db")

    def __init__(self, db: sqlite3.Connection, opened: _Opened) -> None:
        self.db = db
        opened.add(db)
        weakref.finalize(self, opened.close, db)


class _Opened:
    """Every connection of this process that may be open. Whoever closes one holds up whoever wants all closed: the last
    one moves and removes the write-ahead log, and who was told that a store is closed may delete its folder."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._all: set[sqlite3.Connection] = set()
        self._turn = threading.RLock()  # a finaliser may run inside our own code

    def add(self, db: sqlite3.Connection) -> None:
        with self._turn:
            self._all.add(db)

    def close(self, *these: sqlite3.Connection) -> None:
        """Close these, or all of them."""
        if os.getpid() != self._process:
            return
        with self._turn:
            for db in these or list(self._all):
                db.close()
                self._all.discard(db)


class SqliteConnections:
    """Opens what is asked for by the first thread that asks."""

    def __init__(self, path: Path, readonly: bool, prepare: Callable[[sqlite3.Connection], None]) -> None:
        self._path = path
        self._readonly = readonly
        self._prepare = prepare
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._local = threading.local()
        self._opened = _Opened()

    def mine(self) -> sqlite3.Connection:
        """This thread's connection."""
        if os.getpid() != self._process:
            _INHERITED.extend((self._local, self._opened))
            self._begin()
        held: _Held | None = getattr(self._local, "held", None)
        if held is None:
            with translate_errors(self._path.parent):
                held = _Held(_readonly(self._path) if self._readonly else _writable(self._path), self._opened)
                self._prepare(held.db)
            self._local.held = held
        return held.db

    def close(self) -> None:
        """Close every thread's connection; when this returns, none is open."""
        opened = self._opened
        self._begin()
        opened.close()


def _writable(path: Path) -> sqlite3.Connection:
    db = _connected(path, "mode=rw")
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=FULL")
    db.execute(f"PRAGMA wal_autocheckpoint={_LOG_PAGES}")
    return db


def _readonly(path: Path) -> sqlite3.Connection:
    db = _connected(path, "mode=ro")
    try:
        db.execute("SELECT count(*) FROM setting").fetchone()
    except sqlite3.OperationalError as error:
        # A write-ahead log cannot be shared from a folder we may not write; nobody writes here, so read as is.
        log = path.with_name(f"{path.name}-wal")
        if log.exists() and log.stat().st_size:
            raise StoreError(
                f"{path.parent} is read-only here, and its newest commits are still in {log.name}",
                "copy the whole folder to a place you may write to and open it there once",
            ) from error
        return _connected(path, "immutable=1")
    return db


def _connected(path: Path, how: str) -> sqlite3.Connection:
    db = sqlite3.connect(
        f"file:{quote(str(path.resolve()))}?{how}",
        uri=True,
        timeout=_BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    db.execute("PRAGMA mmap_size=268435456")
    return db
