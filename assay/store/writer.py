"""What may be done inside one transaction of the store."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any

from assay.store.rows import FileFacts, Stored, stored
from assay.store.validation import in_use, storable
from assay.types import Chunk, Vector

_BEAR = (
    "INSERT INTO chunk (id, doc_id, text, tokens, created, importance, meta, facts, origin, born) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


class SqliteWriter:
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

    def put_file(self, facts: FileFacts, rows: Iterable[tuple[Stored, Vector | None]]) -> None:
        """Make a file's live chunks exactly these: equal ones stay, changed ones are replaced, missing ones die."""
        live = {
            name: (seq, said)
            for name, seq, said in self._db.execute(
                "SELECT id, seq, facts FROM chunk WHERE origin = ? AND died IS NULL", (facts.origin,)
            )
        }
        count = self._update(facts.origin, rows, live) if live or self._dim else self._fill(facts.origin, rows)
        self._db.execute(
            "INSERT OR REPLACE INTO file VALUES (?, ?, ?, ?, ?)",
            (facts.origin, facts.source, facts.hash, facts.size, count),
        )

    def _update(
        self, origin: str, rows: Iterable[tuple[Stored, Vector | None]], live: dict[str, tuple[int, bytes]]
    ) -> int:
        """Compare each with what is there; how many there are."""
        count = 0
        for row, vector in rows:
            count += 1
            seq, before = live.pop(row[0], (0, b""))
            if before == row[-1]:
                self.kept += 1
                if vector is not None:
                    self._fill_vector(seq, row[0], vector)
                continue
            if seq:
                self._die(seq)
            self._bear(row, origin, vector)
        for seq, _ in live.values():
            self._die(seq)
        return count

    def _fill(self, origin: str, rows: Iterable[tuple[Stored, Vector | None]]) -> int:
        """All of them are new and none has a vector: written in one go, which takes half the time."""
        behind = (origin, self.version)
        name, count = "", 0

        def given() -> Iterator[tuple[Any, ...]]:
            nonlocal name, count
            for row, vector in rows:
                if vector is not None:
                    self._bytes(f"chunk {row[0]!r}", vector)  # a store without vectors says so
                name, count = row[0], count + 1
                yield row + behind

        try:
            self._db.executemany(_BEAR, given())
        except sqlite3.IntegrityError as error:
            raise in_use(name) from error
        self.born += count
        return count

    def remove_file(self, origin: str) -> None:
        self._remove("origin", origin)
        self._db.execute("DELETE FROM file WHERE origin = ?", (origin,))

    def remove_source(self, name: str) -> bool:
        """Forget a source's name; False when it was unknown."""
        return self._db.execute("DELETE FROM source WHERE name = ?", (name,)).rowcount > 0

    # -- documents and chunks

    def put(self, chunk: Chunk, vector: Vector | None, origin: str) -> bool:
        """Add or replace one chunk by id; False when the very same already stands there."""
        row = stored(chunk)
        before = self._db.execute("SELECT seq, facts FROM chunk WHERE id = ? AND died IS NULL", (chunk.id,)).fetchone()
        if before is not None:
            if before[1] == row[-1] and self._has_vector(before[0], chunk.id, vector):
                self.kept += 1
                return False
            self._die(before[0])
        self._bear(row, origin, vector)
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
        sweep_staged(self._db)
        self._db.execute("DELETE FROM version WHERE number < ?", (before,))
        self._db.execute("DELETE FROM tag WHERE version < ?", (before,))
        return gone

    # -- vectors, tags, settings

    def put_vectors(self, vectors: Iterable[tuple[int, Vector]]) -> None:
        for seq, vector in vectors:
            raw = self._bytes(f"row {seq}", vector)
            self._db.execute("INSERT OR REPLACE INTO vector VALUES (?, ?)", (seq, raw))
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

    def _bear(self, row: Stored, origin: str, vector: Vector | None) -> None:
        raw = None if vector is None else self._bytes(f"chunk {row[0]!r}", vector)
        try:
            cursor = self._db.execute(_BEAR, (*row, origin, self.version))
        except sqlite3.IntegrityError as error:
            raise in_use(row[0]) from error
        if raw is not None:
            self._db.execute("INSERT INTO vector VALUES (?, ?)", (cursor.lastrowid, raw))
        self.born += 1

    def _has_vector(self, seq: int, name: str, vector: Vector | None) -> bool:
        """Is this the row's vector already? None asks for no change."""
        if vector is None:
            return True
        row = self._db.execute("SELECT value FROM vector WHERE seq = ?", (seq,)).fetchone()
        return row is not None and row[0] == self._bytes(f"chunk {name!r}", vector)

    def _fill_vector(self, seq: int, name: str, vector: Vector) -> None:
        """Give a row its vector where it has none; it counts as a change, or the index would never learn of it."""
        raw = self._bytes(f"chunk {name!r}", vector)
        added = self._db.execute("INSERT OR IGNORE INTO vector VALUES (?, ?)", (seq, raw)).rowcount
        self._other = self._other or added > 0

    def touch(self) -> None:
        """Something that readers must learn of has changed, though no chunk was born or died."""
        self._other = True

    def _bytes(self, whose: str, vector: Vector) -> bytes:
        return self.raw(whose, vector, self._dim)

    @staticmethod
    def raw(whose: str, vector: Vector, dim: int) -> bytes:
        """A vector as it is stored."""
        return storable(whose, vector, dim).tobytes()


def sweep_staged(db: sqlite3.Connection) -> None:
    """Vectors of a next model (`staging`) go with the rows they were made of. Within the caller's transaction."""
    if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'vector_next'").fetchone():
        db.execute("DELETE FROM vector_next WHERE seq NOT IN (SELECT seq FROM chunk)")
