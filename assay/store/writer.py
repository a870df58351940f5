"""The operations of one transaction on a SQLite store."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any

from assay.store.rows import FileState, StoredRow, encode_row, encode_vector
from assay.store.validation import check_vector, id_in_use_error
from assay.types import Chunk, Vector

_INSERT = (
    "INSERT INTO chunk (id, doc_id, text, tokens, created, importance, meta, facts, origin, born) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


class SqliteWriter:
    """Implements `ChunkWriter`; `dim` is the length of the store's vectors, 0 for none."""

    def __init__(self, db: sqlite3.Connection, version: int, dim: int) -> None:
        self._db = db
        self._dim = dim
        self.version = version
        self.inserted = 0
        self.deleted = 0
        self.unchanged = 0
        self.erased = False
        """Whether rows were deleted from every version, live ones perhaps."""
        self.settings: dict[str, Any] = {}
        """Settings changed here."""
        self._other_changes = False

    @property
    def changed(self) -> bool:
        return bool(self.inserted or self.deleted or self._other_changes)

    # -- sources and files

    def folder_root(self, name: str) -> str | None:
        """The path of a named folder; "" for records given as data, None for an unknown name."""
        row = self._db.execute("SELECT root FROM source WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def put_folder(self, name: str, root: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO source VALUES (?, ?)", (name, root))

    def put_file(self, file: FileState, rows: Iterable[tuple[StoredRow, Vector | None]], partial: bool = False) -> None:
        """Make a file's live chunks exactly these: equal ones stay, changed ones are replaced, missing ones die unless
        this is only a part of the file."""
        live = {
            name: (seq, digest)
            for name, seq, digest in self._db.execute(
                "SELECT id, seq, facts FROM chunk WHERE origin = ? AND died IS NULL", (file.origin,)
            )
        }
        count = self._update(file.origin, rows, live) if live or self._dim else self._insert_all(file.origin, rows)
        if partial:
            count += len(live)
        else:
            for seq, _ in live.values():
                self._delete(seq)
        self._db.execute(
            "INSERT OR REPLACE INTO file VALUES (?, ?, ?, ?, ?)",
            (file.origin, file.folder, file.hash, file.size, count),
        )

    def _update(
        self, origin: str, rows: Iterable[tuple[StoredRow, Vector | None]], live: dict[str, tuple[int, bytes]]
    ) -> int:
        """Compare rows with the live ones of a file and leave the others in `live`; how many rows."""
        count = 0
        for row, vector in rows:
            count += 1
            seq, before = live.pop(row[0], (0, b""))
            if before == row[-1]:
                self.unchanged += 1
                if vector is not None:
                    self._add_missing_vector(seq, row[0], vector)
                continue
            if seq:
                self._delete(seq)
            self._insert(row, origin, vector)
        return count

    def _insert_all(self, origin: str, rows: Iterable[tuple[StoredRow, Vector | None]]) -> int:
        """Insert rows of a new file without vectors with `executemany`, which takes half the time."""
        suffix = (origin, self.version)
        name, count = "", 0

        def values() -> Iterator[tuple[Any, ...]]:
            nonlocal name, count
            for row, vector in rows:
                if vector is not None:
                    self._bytes(f"chunk {row[0]!r}", vector)  # a store without vectors says so
                name, count = row[0], count + 1
                yield row + suffix

        try:
            self._db.executemany(_INSERT, values())
        except sqlite3.IntegrityError as error:
            raise id_in_use_error(name) from error
        self.inserted += count
        return count

    def remove_file(self, origin: str) -> None:
        self._remove("origin", origin)
        self._db.execute("DELETE FROM file WHERE origin = ?", (origin,))

    def remove_folder(self, name: str) -> bool:
        """Forget a source's name; False when it was unknown."""
        return self._db.execute("DELETE FROM source WHERE name = ?", (name,)).rowcount > 0

    # -- documents and chunks

    def put(self, chunk: Chunk, vector: Vector | None, origin: str) -> bool:
        """Add or replace one chunk by id; False when it is already there, unchanged."""
        row = encode_row(chunk)
        before = self._db.execute("SELECT seq, facts FROM chunk WHERE id = ? AND died IS NULL", (chunk.id,)).fetchone()
        if before is not None:
            if before[1] == row[-1] and self._has_vector(before[0], chunk.id, vector):
                self.unchanged += 1
                return False
            self._delete(before[0])
        self._insert(row, origin, vector)
        return True

    def remove_document(self, doc_id: str) -> None:
        origins = self._db.execute("SELECT DISTINCT origin FROM chunk WHERE doc_id = ? AND died IS NULL", (doc_id,))
        affected = [row[0] for row in origins]
        self._remove("doc_id", doc_id)
        for origin in affected:
            self._mark_incomplete(origin)

    def remove_chunk(self, chunk_id: str) -> None:
        row = self._db.execute("SELECT origin FROM chunk WHERE id = ? AND died IS NULL", (chunk_id,)).fetchone()
        self._remove("id", chunk_id)
        if row:
            self._mark_incomplete(row[0])

    def _mark_incomplete(self, origin: str) -> None:
        """Part of a file was removed: the next `add` must not think that nothing changed."""
        self._db.execute("UPDATE file SET hash = '' WHERE origin = ?", (origin,))
        left = "SELECT 1 FROM chunk WHERE origin = ?1 AND died IS NULL"
        self._db.execute(f"DELETE FROM file WHERE origin = ?1 AND NOT EXISTS ({left})", (origin,))

    def forget_dead(self, before: int) -> int:
        """Erase rows that died at or before a version; snapshots older than it are gone for good."""
        self._db.execute("DELETE FROM vector WHERE seq IN (SELECT seq FROM chunk WHERE died <= ?)", (before,))
        gone = self._db.execute("DELETE FROM chunk WHERE died <= ?", (before,)).rowcount
        sweep_staged(self._db)
        self._db.execute("DELETE FROM version WHERE number < ?", (before,))
        self._db.execute("DELETE FROM tag WHERE version < ?", (before,))
        return gone

    # -- vectors, tags, settings

    def put_vectors(self, vectors: Iterable[tuple[int, Vector]]) -> None:
        for seq, vector in vectors:
            raw = self._bytes(f"row {seq}", vector)
            self._db.execute("INSERT OR REPLACE INTO vector VALUES (?, ?)", (seq, raw))
            self._other_changes = True

    def tag(self, name: str, version: int) -> None:
        self._db.execute("INSERT OR REPLACE INTO tag VALUES (?, ?)", (name, version))

    def set(self, key: str, value: Any) -> None:
        """Change a setting; settings have no versions."""
        self.save(key, value)
        self.settings[key] = value
        self._dim = int(value) if key == "dim" else self._dim

    def save(self, key: str, value: Any) -> None:
        """Write a value that belongs to the store and is no setting of its user."""
        self._db.execute("INSERT OR REPLACE INTO setting VALUES (?, ?)", (key, json.dumps(value)))

    # -- rows

    def _remove(self, column: str, value: str) -> None:
        self.deleted += self._db.execute(
            f"UPDATE chunk SET died = ? WHERE {column} = ? AND died IS NULL", (self.version, value)
        ).rowcount

    def _delete(self, seq: int) -> None:
        self.deleted += self._db.execute("UPDATE chunk SET died = ? WHERE seq = ?", (self.version, seq)).rowcount

    def _insert(self, row: StoredRow, origin: str, vector: Vector | None) -> None:
        raw = None if vector is None else self._bytes(f"chunk {row[0]!r}", vector)
        try:
            cursor = self._db.execute(_INSERT, (*row, origin, self.version))
        except sqlite3.IntegrityError as error:
            raise id_in_use_error(row[0]) from error
        if raw is not None:
            self._db.execute("INSERT INTO vector VALUES (?, ?)", (cursor.lastrowid, raw))
        self.inserted += 1

    def _has_vector(self, seq: int, name: str, vector: Vector | None) -> bool:
        """Whether the row has this vector already; True for None, which asks for no change."""
        if vector is None:
            return True
        row = self._db.execute("SELECT value FROM vector WHERE seq = ?", (seq,)).fetchone()
        return row is not None and row[0][: 4 * self._dim] == self._bytes(f"chunk {name!r}", vector)[: 4 * self._dim]

    def _add_missing_vector(self, seq: int, name: str, vector: Vector) -> None:
        """Give a row its vector where it has none; a change, so that the index takes it in."""
        raw = self._bytes(f"chunk {name!r}", vector)
        added = self._db.execute("INSERT OR IGNORE INTO vector VALUES (?, ?)", (seq, raw)).rowcount
        self._other_changes = self._other_changes or added > 0

    def touch(self) -> None:
        """Make a new version although no chunk was inserted or deleted, so that readers notice."""
        self._other_changes = True

    def _bytes(self, owner: str, vector: Vector) -> bytes:
        return self.raw(owner, vector, self._dim)

    @staticmethod
    def raw(owner: str, vector: Vector, dim: int) -> bytes:
        """A vector as it is stored."""
        return encode_vector(check_vector(owner, vector, dim))


def sweep_staged(db: sqlite3.Connection) -> None:
    """Delete staged vectors whose rows are gone. Within the caller's transaction."""
    if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'vector_next'").fetchone():
        db.execute("DELETE FROM vector_next WHERE seq NOT IN (SELECT seq FROM chunk)")
