"""A persistent cache of computed bytes, by (digest of the model, key), in one SQLite file shared by processes.

The cache never fails its caller: where the file is damaged, locked, full or read-only it is bypassed, and `bypassed`
and `trouble` report that. A checksum guards every entry. Beyond `max_bytes` the least recently used entries are
dropped; "recently" is a counter of writes, not a clock.
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
MAX_FAILURES = 3  # in a row; then this object stops using the file
KEYS_PER_STATEMENT = 500  # keys per SQL statement
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
    """One file of entries. `bypassed` counts failed uses of it, `trouble` is the last error.

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

    def get(self, model: str, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the entries of these keys that are present and intact."""
        empty: dict[bytes, bytes] = {}
        return self._use(lambda connection: _get(connection, model, keys), empty) if keys else empty

    def put(self, model: str, fresh: Mapping[bytes, bytes]) -> None:
        """Store entries; they replace entries of the same keys."""
        if fresh:
            self._use(lambda connection: self._put(connection, model, fresh), None)

    def drop(self, keys: Sequence[bytes]) -> int:
        """Delete the entries of these keys, of all models, and overwrite their bytes; return how many there were."""
        return self._use(lambda connection: _drop(connection, keys), 0) if keys else 0

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                _close(self._connection, self._process)
            self._connection = None

    def _use(self, action: Callable[[sqlite3.Connection], Result], fallback: Result) -> Result:
        """Return the result of `action` on the file, or `fallback` where the file cannot be used."""
        with self._lock:
            if self._failures >= MAX_FAILURES:
                self.bypassed += 1
                return fallback
            try:
                result = action(self._open())
            except (sqlite3.Error, OSError) as error:
                self._failures += 1
                self.bypassed += 1
                self.trouble = f"{self.path}: {error}"
                return fallback
            self._failures = 0
            return result

    def _open(self) -> sqlite3.Connection:
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

    def _put(self, connection: sqlite3.Connection, model: str, fresh: Mapping[bytes, bytes]) -> None:
        with connection:  # commits, or rolls back on an error
            connection.execute("BEGIN IMMEDIATE")
            now = _last_use(connection) + 1
            connection.executemany(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?)",
                ((model, key, now, _add_checksum(key, raw)) for key, raw in fresh.items()),
            )
            self._prune(connection)

    def _prune(self, connection: sqlite3.Connection) -> None:
        """Beyond `max_bytes`, drop the least recently used entries until a tenth of the room is free."""
        pages = _pragma(connection, "page_count") - _pragma(connection, "freelist_count")
        size = pages * _pragma(connection, "page_size")
        if size <= self.max_bytes:
            return
        (rows,) = connection.execute("SELECT count(*) FROM vectors").fetchone()
        excess = math.ceil(rows * (1 - 0.9 * self.max_bytes / size))
        connection.execute(
            "DELETE FROM vectors WHERE rowid IN (SELECT rowid FROM vectors ORDER BY used, rowid LIMIT ?)", (excess,)
        )


def _get(connection: sqlite3.Connection, model: str, keys: Sequence[bytes]) -> dict[bytes, bytes]:
    entries: dict[bytes, bytes] = {}
    ageing: list[int] = []
    half = _middle_use(connection)
    for start in range(0, len(keys), KEYS_PER_STATEMENT):
        batch = keys[start : start + KEYS_PER_STATEMENT]
        marks = ",".join("?" * len(batch))
        rows = connection.execute(
            f"SELECT rowid, text, used, vector FROM vectors WHERE model = ? AND text IN ({marks})", (model, *batch)
        )
        for row, key, used, sealed in rows:
            raw = _verify_checksum(key, sealed)
            if raw is not None:
                entries[key] = raw
                if used < half:
                    ageing.append(row)
    if ageing:
        with contextlib.suppress(sqlite3.OperationalError):  # locked or read-only: what was read is still valid
            _touch(connection, ageing)
    return entries


def _drop(connection: sqlite3.Connection, keys: Sequence[bytes]) -> int:
    connection.execute("PRAGMA secure_delete = ON")
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        deleted = connection.executemany("DELETE FROM vectors WHERE text = ?", ((key,) for key in keys)).rowcount
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return deleted


def _middle_use(connection: sqlite3.Connection) -> float:
    """Return the middle between the oldest use and the newest. Reading an entry younger than that writes nothing."""
    (oldest,) = connection.execute("SELECT coalesce(min(used), 0) FROM vectors").fetchone()
    return (int(oldest) + _last_use(connection)) / 2


def _touch(connection: sqlite3.Connection, rows: Iterable[int]) -> None:
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        now = _last_use(connection)
        connection.executemany("UPDATE vectors SET used = ? WHERE rowid = ?", ((now, row) for row in rows))


def _last_use(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT coalesce(max(used), 0) FROM vectors").fetchone()[0])


def _prepare(connection: sqlite3.Connection) -> None:
    connection.executescript(SETTINGS)
    if _pragma(connection, "user_version") == 0:
        connection.executescript(SCHEMA)
    if (version := _pragma(connection, "user_version")) != FORMAT:
        raise sqlite3.DatabaseError(f"a cache of format {version}, where this version reads {FORMAT}")


def _add_checksum(key: bytes, raw: bytes) -> bytes:
    return raw + hashlib.blake2b(raw, digest_size=CHECKSUM, key=key).digest()


def _verify_checksum(key: bytes, sealed: object) -> bytes | None:
    """Return the bytes, or None where their checksum is wrong."""
    if not isinstance(sealed, bytes):
        return None
    raw, checksum = sealed[:-CHECKSUM], sealed[-CHECKSUM:]
    return raw if hashlib.blake2b(raw, digest_size=CHECKSUM, key=key).digest() == checksum else None


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _close(connection: sqlite3.Connection, process: int) -> None:
    if process == os.getpid():
        connection.close()
