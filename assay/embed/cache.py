"""Vectors that were computed before, by (model digest, hash of the text), in one SQLite file for many processes.

The cache never fails an embedding: where it is damaged, locked, full or read-only it is bypassed, and `bypassed`
and `trouble` say so. What comes back is the float32 bytes that went in, under a checksum. Beyond `max_bytes` the
least recently used vectors are dropped; "recently" is a counter of calls, not a clock.
"""

from __future__ import annotations

import hashlib
import math
import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from assay.embed.home import home
from assay.protocols import Embedder
from assay.types import Vector, Vectors

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

Found = dict[bytes, Vector]  # key of a text → its vector
Result = TypeVar("Result")


class CachedEmbedder:
    """The embedder `inner`, asked only for what is not in the cache yet; equal texts of one call are asked for once.

    `hits` and `misses` count distinct texts per call, `bypassed` counts failed uses of the file, `trouble` is the
    last reason. Safe to share between threads; after a fork the child opens the file anew.
    """

    def __init__(self, inner: Embedder, path: Path | None = None, max_bytes: int = 1 << 30) -> None:
        self.inner = inner
        self.path = home() / "vectors.sqlite" if path is None else path
        self.max_bytes = max_bytes
        self.hits = self.misses = self.bypassed = 0
        self.trouble = ""
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._process = 0  # that opened the connection
        self._failures = 0  # in a row

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def digest(self) -> str:
        return self.inner.digest

    @property
    def dim(self) -> int:
        return self.inner.dim

    @property
    def max_tokens(self) -> int:
        return self.inner.max_tokens

    def encode(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return self.inner.encode(texts)
        return self._cached(texts, b"document", self.inner.encode)

    def encode_query(self, text: str) -> Vector:
        # A model may read a query otherwise than a document, so the two have keys of their own.
        rows = self._cached([text], b"query", lambda texts: self.inner.encode_query(texts[0])[np.newaxis])
        return rows.reshape(-1)

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                _close(self._connection, self._process)
            self._connection = None

    def _cached(self, texts: Sequence[str], kind: bytes, ask: Callable[[Sequence[str]], Vectors]) -> Vectors:
        keys = [_key(kind, text) for text in texts]
        distinct = dict(zip(keys, texts, strict=True))
        nothing: Found = {}
        known = self._use(lambda connection: self._get(connection, list(distinct)), nothing)
        missing = {key: text for key, text in distinct.items() if key not in known}
        fresh = dict(zip(missing, ask(list(missing.values())), strict=True)) if missing else {}
        self.hits += len(known)
        self.misses += len(fresh)
        self._use(lambda connection: self._put(connection, known, fresh), None)
        return np.stack([fresh[key] if key in fresh else known[key] for key in keys])

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

    def _get(self, connection: sqlite3.Connection, keys: Sequence[bytes]) -> Found:
        found: Found = {}
        for start in range(0, len(keys), SLICE):
            some = keys[start : start + SLICE]
            marks = ",".join("?" * len(some))
            rows = connection.execute(
                f"SELECT text, vector FROM vectors WHERE model = ? AND text IN ({marks})", (self.digest, *some)
            )
            for key, packed in rows:
                vector = _unpack(key, packed)
                if vector is not None:
                    found[key] = vector
        return found

    def _put(self, connection: sqlite3.Connection, known: Found, fresh: Found) -> None:
        model = self.digest
        with connection:  # commits, or rolls back on an error
            connection.execute("BEGIN IMMEDIATE")
            (now,) = connection.execute("SELECT coalesce(max(used), 0) + 1 FROM vectors").fetchone()
            connection.executemany(
                "UPDATE vectors SET used = ? WHERE model = ? AND text = ?", ((now, model, key) for key in known)
            )
            connection.executemany(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?)",
                ((model, key, now, _pack(key, vector)) for key, vector in fresh.items()),
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


def _prepare(connection: sqlite3.Connection) -> None:
    connection.executescript(SETTINGS)
    if _pragma(connection, "user_version") == 0:
        connection.executescript(SCHEMA)
    if (found := _pragma(connection, "user_version")) != FORMAT:
        raise sqlite3.DatabaseError(f"a cache of format {found}, where this version reads {FORMAT}")


def _key(kind: bytes, text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=20, person=kind).digest()


def _pack(key: bytes, vector: Vector) -> bytes:
    raw = vector.astype("<f4").tobytes()
    return raw + hashlib.blake2b(raw, digest_size=CHECKSUM, key=key).digest()


def _unpack(key: bytes, packed: object) -> Vector | None:
    """The vector, or None where the bytes are not those that were written for this key."""
    if not isinstance(packed, bytes):
        return None
    raw, checksum = packed[:-CHECKSUM], packed[-CHECKSUM:]
    if hashlib.blake2b(raw, digest_size=CHECKSUM, key=key).digest() != checksum:
        return None
    return np.frombuffer(raw, "<f4").astype(np.float32, copy=False)


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _close(connection: sqlite3.Connection, process: int) -> None:
    if process == os.getpid():
        connection.close()
