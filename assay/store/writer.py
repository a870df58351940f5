"""What may be done inside one transaction of the store."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from typing import Any

import numpy as np

from assay.errors import StoreError
from assay.store.facts import FileFacts, facts_of
from assay.types import Chunk, Vector

_META = json.JSONEncoder(ensure_ascii=False, sort_keys=True).encode  # made once: it runs per chunk


class IdInUse(StoreError):
    """A live chunk of another file or record has this id already."""


class Writer:
    """Counts are of this transaction alone. `dim` is the length of the store's vectors, 0 for none."""

    def __init__(self, db: sqlite3.Connection, version: int, dim: int) -> None:
        self._db = db
        self._dim = dim
        self.version = version
        self.born = 0
        self.died = 0
        self.kept = 0
        self.settings: dict[str, Any] = {}
        """Settings changed here."""
        self._other = False

    @property
    def changed(self) -> bool:
        return bool(self.born or self.died or self._other)

    # -- sources and files

    def root_of(self, source: str) -> str | None:
        """The folder a source's name stands for; "" for records given as data, None for an unknown name."""
        row = self._db.execute("SELECT root FROM source WHERE name = ?", (source,)).fetchone()
        return None if row is None else str(row[0])

    def put_source(self, name: str, root: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO source VALUES (?, ?)", (name, root))

    def put_file(self, facts: FileFacts, chunks: Iterable[tuple[Chunk, Vector | None]]) -> None:
        """Make a file's live chunks exactly these: equal ones stay, changed ones are replaced, missing ones die."""
        live = {
            name: (seq, said)
            for name, seq, said in self._db.execute(
                "SELECT id, seq, facts FROM chunk WHERE origin = ? AND died IS NULL", (facts.origin,)
            )
        }
        count = 0
        for chunk, vector in chunks:
            count += 1
            said = _facts(chunk)
            seq, before = live.pop(chunk.id, (0, b""))
            if before == said:
                self.kept += 1
                if vector is not None:
                    self._fill_vector(seq, chunk, vector)
                continue
            if seq:
                self._die(seq)
            self._bear(chunk, facts.origin, said, vector)
        for seq, _ in live.values():
            self._die(seq)
        self._db.execute(
            "INSERT OR REPLACE INTO file VALUES (?, ?, ?, ?, ?)",
            (facts.origin, facts.source, facts.hash, facts.size, count),
        )

    def remove_file(self, origin: str) -> None:
        self._remove("origin", origin)
        self._db.execute("DELETE FROM file WHERE origin = ?", (origin,))

    def remove_source(self, name: str) -> bool:
        """Forget a source's name; False when it was unknown."""
        return self._db.execute("DELETE FROM source WHERE name = ?", (name,)).rowcount > 0

    # -- documents and chunks

    def put(self, chunk: Chunk, vector: Vector | None, origin: str) -> bool:
        """Add or replace one chunk by id; False when the very same already stands there."""
        said = _facts(chunk)
        row = self._db.execute("SELECT seq, facts FROM chunk WHERE id = ? AND died IS NULL", (chunk.id,)).fetchone()
        if row is not None:
            if row[1] == said and self._has_vector(row[0], chunk, vector):
                self.kept += 1
                return False
            self._die(row[0])
        self._bear(chunk, origin, said, vector)
        return True

    def remove_document(self, doc_id: str) -> None:
        origins = self._db.execute("SELECT DISTINCT origin FROM chunk WHERE doc_id = ? AND died IS NULL", (doc_id,))
        touched = [row[0] for row in origins]
        self._remove("doc_id", doc_id)
        for origin in touched:
            self._touched(origin)

    def remove_chunk(self, chunk_id: str) -> None:
        row = self._db.execute("SELECT origin FROM chunk WHERE id = ? AND died IS NULL", (chunk_id,)).fetchone()
        self._remove("id", chunk_id)
        if row:
            self._touched(row[0])

    def _touched(self, origin: str) -> None:
        """Part of a file was removed: the next `add` must not think that nothing changed."""
        self._db.execute("UPDATE file SET hash = '' WHERE origin = ?", (origin,))
        left = "SELECT 1 FROM chunk WHERE origin = ?1 AND died IS NULL"
        self._db.execute(f"DELETE FROM file WHERE origin = ?1 AND NOT EXISTS ({left})", (origin,))

    def forget_dead(self, before: int) -> int:
        """Erase rows that died at or before a version; snapshots older than it are gone for good."""
        self._db.execute("DELETE FROM vector WHERE seq IN (SELECT seq FROM chunk WHERE died <= ?)", (before,))
        gone = self._db.execute("DELETE FROM chunk WHERE died <= ?", (before,)).rowcount
        self._db.execute("DELETE FROM version WHERE number < ?", (before,))
        self._db.execute("DELETE FROM tag WHERE version < ?", (before,))
        return gone

    # -- vectors, tags, settings

    def put_vectors(self, vectors: Iterable[tuple[int, Vector]]) -> None:
        for seq, vector in vectors:
            raw = self._bytes(f"row {seq}", vector)
            self._db.execute("INSERT OR REPLACE INTO vector VALUES (?, ?)", (seq, raw))
            self._other = True

    def drop_vectors(self) -> None:
        """Forget every vector: they are about to be made anew by another model."""
        self._db.execute("DELETE FROM vector")
        self._other = True

    def tag(self, name: str, version: int) -> None:
        self._db.execute("INSERT OR REPLACE INTO tag VALUES (?, ?)", (name, version))

    def set(self, key: str, value: Any) -> None:
        """Change a setting; settings have no versions."""
        self._db.execute("INSERT OR REPLACE INTO setting VALUES (?, ?)", (key, json.dumps(value)))
        self.settings[key] = value
        self._dim = int(value) if key == "dim" else self._dim

    # -- rows

    def _remove(self, column: str, value: str) -> None:
        self.died += self._db.execute(
            f"UPDATE chunk SET died = ? WHERE {column} = ? AND died IS NULL", (self.version, value)
        ).rowcount

    def _die(self, seq: int) -> None:
        self.died += self._db.execute("UPDATE chunk SET died = ? WHERE seq = ?", (self.version, seq)).rowcount

    def _bear(self, chunk: Chunk, origin: str, said: bytes, vector: Vector | None) -> None:
        _check(chunk)
        raw = None if vector is None else self._bytes(f"chunk {chunk.id!r}", vector)
        created = None if chunk.created != chunk.created else chunk.created
        meta = _META(chunk.meta)
        try:
            cursor = self._db.execute(
                "INSERT INTO chunk (id, doc_id, origin, text, tokens, created, importance, meta, facts, born) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(chunk.id, chunk.doc_id, origin, chunk.text, chunk.tokens, created, chunk.importance),
                    *(meta, said, self.version),
                ),
            )
        except sqlite3.IntegrityError as error:
            raise IdInUse(
                f"chunk id {chunk.id!r} is already in use by another file or record", "ids must be unique in a store"
            ) from error
        if raw is not None:
            self._db.execute("INSERT INTO vector VALUES (?, ?)", (cursor.lastrowid, raw))
        self.born += 1

    def _has_vector(self, seq: int, chunk: Chunk, vector: Vector | None) -> bool:
        """Is this the row's vector already? None asks for no change."""
        if vector is None:
            return True
        row = self._db.execute("SELECT value FROM vector WHERE seq = ?", (seq,)).fetchone()
        return row is not None and row[0] == self._bytes(f"chunk {chunk.id!r}", vector)

    def _fill_vector(self, seq: int, chunk: Chunk, vector: Vector) -> None:
        """Give a row its vector where it has none; it counts as a change, or the index would never learn of it."""
        raw = self._bytes(f"chunk {chunk.id!r}", vector)
        added = self._db.execute("INSERT OR IGNORE INTO vector VALUES (?, ?)", (seq, raw)).rowcount
        self._other = self._other or added > 0

    def _bytes(self, whose: str, vector: Vector) -> bytes:
        """A vector as it is stored; one that no search could use is refused here, before anything is written."""
        given = np.asarray(vector, "<f4")
        if given.shape != (self._dim,):
            raise StoreError(
                f"{whose}: a vector of shape {given.shape}; this store holds vectors of length {self._dim}",
                "embed with the store's own model",
            )
        if not np.isfinite(given).all():
            raise StoreError(f"{whose}: its vector is not finite", "give finite numbers, or no vector")
        return given.tobytes()


def _facts(chunk: Chunk) -> bytes:
    try:
        return facts_of(chunk)
    except (TypeError, ValueError) as error:
        raise StoreError(
            f"chunk {chunk.id!r} cannot be stored: {error}",
            "its numbers must be finite, its metadata text, numbers, true or false, and lists and tables of them",
        ) from error


def _check(chunk: Chunk) -> None:
    """Refuse what could be written and never be searched again."""
    if not chunk.id or "\0" in chunk.id:
        raise StoreError(f"{chunk.id!r} cannot be a chunk's id", "use a text without NUL")
    if not 0.0 <= chunk.importance <= 1.0:
        raise StoreError(f"chunk {chunk.id!r}: importance {chunk.importance} is not in [0, 1]", "give 0 to 1")
    if not 0 <= chunk.tokens < 1 << 63:
        raise StoreError(f"chunk {chunk.id!r}: {chunk.tokens} tokens", "count the tokens of its text")
