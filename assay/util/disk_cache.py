"""Bytes that were computed before, by (digest of their maker, key), in one SQLite file for many processes.

A shelf never fails its user: where the file is damaged, locked, full or read-only it is bypassed, and `bypassed`
and `trouble` say so. What comes back is the bytes that went in, under a checksum. Beyond `max_bytes` the least
recently used entries are dropped; "recently" is a counter of writes, not a clock.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

FORMAT = 1
PATIENCE = 3  # failures in a row before the file is left alone for the life of this object
SLICE = 500  # keys per SQL statement
CHECKSUM = 8  # bytes

SETTINGS = "PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 16777216"
SCHEMA = f"""
PRAGMA journal_mode = WAL;
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS vectors (model TEXT, text BLOB, used INTEGER, vector BLOB, PRIMARY KEY (model, text));
CREATE INDEX IF NOT EXISTS by_use ON vectors (used);
PRAGMA user_version = {FORMAT};
COMMIT;
"""

Result = TypeVar("Result")


class DiskCache:
    """One file of entries. `bypassed` counts failed uses of it, `trouble` is the last reason.

    Safe to share between threads; after a fork the child opens the file anew.
    """

    def __init__(self, path: Path, max_bytes: int) -> None:
        self.path = path
        self.max_bytes = max_bytes
        self.bypassed = 0
        self.trouble = ""
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._process = 0  # that opened the connection
        self._failures = 0  # in a row

    def get(self, maker: str, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """What is here of the keys, whole and unchanged."""
        nothing: dict[bytes, bytes] = {}
        return self._use(lambda connection: _get(connection, maker, keys), nothing) if keys else nothing

    def put(self, maker: str, fresh: Mapping[bytes, bytes]) -> None:
        """Keep these, in place of what has the same keys."""
        if fresh:
            self._use(lambda connection: self._put(connection, maker, fresh), None)

    def drop(self, keys: Sequence[bytes]) -> int:
        """Remove entries of these keys, whoever made them, and every byte of them in the file; how many there were."""
        return self._use(lambda connection: _drop(connection, keys), 0) if keys else 0

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                _close(self._connection, self._process)
            self._connection = None

    def _use(self, action: Callable[[sqlite3.Connection], Result], otherwise: Result) -> Result:
        """What `action` does with the file, or `otherwise` where the file cannot be used."""
        with self._lock:
            if self._failures >= PATIENCE:
                self.bypassed += 1
                return otherwise
            try:
                result = action(self._opened())
            except (sqlite3.Error, OSError) as error:
                self._failures += 1
                self.bypassed += 1
                self.trouble = f"{self.path}: {error}"
                return otherwise
            self._failures = 0
            return result

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None or self._process != os.getpid():  # SQLite's connections must not cross a fork
            self.path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self.path, timeout=0.25, isolation_level=None, check_same_thread=False)
            try:
                _prepare(connection)
            except sqlite3.Error:
                connection.close()
                raise
            self._connection, self._process = connection, os.getpid()
            weakref.finalize(self, _close, connection, self._process)
        return self._connection

    def _put(self, connection: sqlite3.Connection, maker: str, fresh: Mapping[bytes, bytes]) -> None:
        with connection:  # commits, or rolls back on an error
            connection.execute("BEGIN IMMEDIATE")
            now = _newest(connection) + 1
            connection.executemany(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?)",
                ((maker, key, now, _sealed(key, raw)) for key, raw in fresh.items()),
            )
            self._prune(connection)

    def _prune(self, connection: sqlite3.Connection) -> None:
        """Beyond `max_bytes`, drop the least recently used until a tenth of the room is free again."""
        pages = _pragma(connection, "page_count") - _pragma(connection, "freelist_count")
        held = pages * _pragma(connection, "page_size")
        if held <= self.max_bytes:
            return
        (rows,) = connection.execute("SELECT count(*) FROM vectors").fetchone()
        excess = math.ceil(rows * (1 - 0.9 * self.max_bytes / held))
        connection.execute(
            "DELETE FROM vectors WHERE rowid IN (SELECT rowid FROM vectors ORDER BY used, rowid LIMIT ?)", (excess,)
        )


def _get(connection: sqlite3.Connection, maker: str, keys: Sequence[bytes]) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = {}
    ageing: list[int] = []
    half = _half(connection)
    for start in range(0, len(keys), SLICE):
        some = keys[start : start + SLICE]
        marks = ",".join("?" * len(some))
        rows = connection.execute(
            f"SELECT rowid, text, used, vector FROM vectors WHERE model = ? AND text IN ({marks})", (maker, *some)
        )
        for row, key, used, sealed in rows:
            raw = _unsealed(key, sealed)
            if raw is not None:
                found[key] = raw
                if used < half:
                    ageing.append(row)
    if ageing:
        with contextlib.suppress(sqlite3.OperationalError):  # locked or read-only: what was read is good all the same
            _touch(connection, ageing)
    return found


def _drop(connection: sqlite3.Connection, keys: Sequence[bytes]) -> int:
    connection.execute("PRAGMA secure_delete = ON")
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        gone = connection.executemany("DELETE FROM vectors WHERE text = ?", ((key,) for key in keys)).rowcount
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return gone


def _half(connection: sqlite3.Connection) -> float:
    """Half way from the oldest use to the newest. What is younger is in no danger, so reading it writes nothing."""
    (oldest,) = connection.execute("SELECT coalesce(min(used), 0) FROM vectors").fetchone()
    return (int(oldest) + _newest(connection)) / 2


def _touch(connection: sqlite3.Connection, rows: Iterable[int]) -> None:
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        now = _newest(connection)
        connection.executemany("UPDATE vectors SET used = ? WHERE rowid = ?", ((now, row) for row in rows))


def _newest(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT coalesce(max(used), 0) FROM vectors").fetchone()[0])


def _prepare(connection: sqlite3.Connection) -> None:
    connection.executescript(SETTINGS)
    if _pragma(connection, "user_version") == 0:
        connection.executescript(SCHEMA)
    if (found := _pragma(connection, "user_version")) != FORMAT:
        raise sqlite3.DatabaseError(f"a cache of format {found}, where this version reads {FORMAT}")


def _sealed(key: bytes, raw: bytes) -> bytes:
    return raw + hashlib.blake2b(raw, digest_size=CHECKSUM, key=key).digest()


def _unsealed(key: bytes, sealed: object) -> bytes | None:
    """The bytes, or None where they are not those that were written for this key."""
    if not isinstance(sealed, bytes):
        return None
    raw, checksum = sealed[:-CHECKSUM], sealed[-CHECKSUM:]
    return raw if hashlib.blake2b(raw, digest_size=CHECKSUM, key=key).digest() == checksum else None


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _close(connection: sqlite3.Connection, process: int) -> None:
    if process == os.getpid():
        connection.close()
