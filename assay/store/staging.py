"""Vectors of the next model beside those of the present one, in SQLite: a second table that takes the first's place."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from assay.store.contract import STAGED, still_staged
from assay.store.writer import SqliteWriter
from assay.types import Vector

_LACKING = "FROM chunk c LEFT JOIN vector_next v ON v.seq = c.seq WHERE v.seq IS NULL"


class _SqliteTables(Protocol):
    @property
    def db(self) -> sqlite3.Connection: ...
    @property
    def address(self) -> str: ...
    def setting(self, key: str) -> Any: ...
    def write(self, note: str) -> AbstractContextManager[SqliteWriter]: ...


class SqliteStaging:
    """The verbs of `record.Record` that move a store in SQLite to another model."""

    def stage(self: _SqliteTables, embedder: str, model: str, dim: int) -> int:
        """Begin a move to a model, or go on with it; how many rows still lack a vector of it."""
        asked = {"embedder": embedder, "model": model, "dim": dim}
        with self.write(f"embed with {embedder}") as writer:
            if self.setting(STAGED) != asked:
                self.db.execute("DROP TABLE IF EXISTS vector_next")
                writer.set(STAGED, asked)
            self.db.execute("CREATE TABLE IF NOT EXISTS vector_next (seq INTEGER PRIMARY KEY, value BLOB NOT NULL)")
            return int(self.db.execute(f"SELECT count(*) {_LACKING}").fetchone()[0])

    def lacking_staged(self: _SqliteTables, after: int, most: int) -> list[int]:
        """Rows behind `after`, dead or alive, that have no vector of the next model yet."""
        rows = self.db.execute(f"SELECT c.seq {_LACKING} AND c.seq > ? ORDER BY c.seq LIMIT ?", (after, most))
        return [row[0] for row in rows]

    def put_staged(self: _SqliteTables, model: str, vectors: Sequence[tuple[int, Vector]]) -> None:
        with self.write("embed") as writer:
            staged = still_staged(self.setting(STAGED), model, self.address)
            raw = [(seq, writer.raw(f"row {seq}", vector, staged["dim"])) for seq, vector in vectors]
            # A row may have been erased since it was read; its vector must not come back.
            statement = "INSERT OR REPLACE INTO vector_next SELECT seq, ?2 FROM chunk WHERE seq = ?1"
            self.db.executemany(statement, raw)

    def adopt(self: _SqliteTables, model: str, note: str) -> bool:
        """Make the next model the store's own, all at once; False when rows without its vector have come meanwhile."""
        with self.write(note) as writer:
            staged = still_staged(self.setting(STAGED), model, self.address)
            if self.db.execute(f"SELECT 1 {_LACKING} LIMIT 1").fetchone():
                return False
            self.db.execute("DROP TABLE vector")
            self.db.execute("ALTER TABLE vector_next RENAME TO vector")
            for key, value in {**staged, STAGED: None}.items():
                writer.set(key, value)
            writer.touch()
        return True
