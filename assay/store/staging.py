"""Staged vectors of the next model in SQLite: a second table that replaces the first."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from assay.store.contract import STAGED, require_staged
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
    """The part of `ChunkStore` that moves a store in SQLite to another model."""

    def stage(self: _SqliteTables, embedder: str, model: str, dim: int) -> int:
        target = {"embedder": embedder, "model": model, "dim": dim}
        with self.write(f"embed with {embedder}") as writer:
            if self.setting(STAGED) != target:
                self.db.execute("DROP TABLE IF EXISTS vector_next")
                writer.set(STAGED, target)
            self.db.execute("CREATE TABLE IF NOT EXISTS vector_next (seq INTEGER PRIMARY KEY, value BLOB NOT NULL)")
            return int(self.db.execute(f"SELECT count(*) {_LACKING}").fetchone()[0])

    def rows_without_staged_vector(self: _SqliteTables, after: int, most: int) -> list[int]:
        rows = self.db.execute(f"SELECT c.seq {_LACKING} AND c.seq > ? ORDER BY c.seq LIMIT ?", (after, most))
        return [row[0] for row in rows]

    def put_staged(self: _SqliteTables, model: str, vectors: Sequence[tuple[int, Vector]]) -> None:
        with self.write("embed") as writer:
            staged = require_staged(self.setting(STAGED), model, self.address)
            raw = [(seq, writer.raw(f"row {seq}", vector, staged["dim"])) for seq, vector in vectors]
            # A row may have been erased since it was read; its vector must not come back.
            statement = "INSERT OR REPLACE INTO vector_next SELECT seq, ?2 FROM chunk WHERE seq = ?1"
            self.db.executemany(statement, raw)

    def adopt(self: _SqliteTables, model: str, note: str) -> bool:
        with self.write(note) as writer:
            staged = require_staged(self.setting(STAGED), model, self.address)
            if self.db.execute(f"SELECT 1 {_LACKING} LIMIT 1").fetchone():
                return False
            self.db.execute("DROP TABLE vector")
            self.db.execute("ALTER TABLE vector_next RENAME TO vector")
            for key, value in {**staged, STAGED: None}.items():
                writer.set(key, value)
            writer.touch()
        return True
