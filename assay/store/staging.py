"""Vectors of the next model beside those of the present one, in SQLite: a second table that takes the first's place."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from assay.errors import StoreError
from assay.store.writer import Writer
from assay.types import Vector

STAGED = "staged"
"""The setting that says which model is on its way in: embedder, model, dim."""
_LACKING = "FROM chunk c LEFT JOIN vector_next v ON v.seq = c.seq WHERE v.seq IS NULL"


class _Store(Protocol):
    @property
    def db(self) -> sqlite3.Connection: ...
    @property
    def address(self) -> str: ...
    def setting(self, key: str) -> Any: ...
    def write(self, note: str) -> AbstractContextManager[Writer]: ...


class StagesVectors:
    """Implements `record.Staging` for a store in SQLite."""

    def stage(self: _Store, embedder: str, model: str, dim: int) -> int:
        """Begin a move to a model, or go on with it; how many rows still lack a vector of it."""
        asked = {"embedder": embedder, "model": model, "dim": dim}
        with self.write(f"embed with {embedder}") as writer:
            if self.setting(STAGED) != asked:
                self.db.execute("DROP TABLE IF EXISTS vector_next")
                writer.set(STAGED, asked)
            self.db.execute("CREATE TABLE IF NOT EXISTS vector_next (seq INTEGER PRIMARY KEY, value BLOB NOT NULL)")
            return int(self.db.execute(f"SELECT count(*) {_LACKING}").fetchone()[0])

    def lacking_staged(self: _Store, after: int, most: int) -> list[int]:
        """Rows behind `after`, dead or alive, that have no vector of the next model yet."""
        rows = self.db.execute(f"SELECT c.seq {_LACKING} AND c.seq > ? ORDER BY c.seq LIMIT ?", (after, most))
        return [row[0] for row in rows]

    def put_staged(self: _Store, vectors: Sequence[tuple[int, Vector]]) -> None:
        with self.write("embed") as writer:
            staged = self.setting(STAGED)
            if not staged:
                raise StoreError(f"another process has moved {self.address} to another model", "open it again")
            raw = [(seq, writer.raw(f"row {seq}", vector, staged["dim"])) for seq, vector in vectors]
            self.db.executemany("INSERT OR REPLACE INTO vector_next VALUES (?, ?)", raw)

    def adopt(self: _Store, note: str) -> bool:
        """Make the next model the store's own, all at once; False when rows without its vector have come meanwhile."""
        with self.write(note) as writer:
            staged = self.setting(STAGED)
            if not staged or self.db.execute(f"SELECT 1 {_LACKING} LIMIT 1").fetchone():
                return not staged
            self.db.execute("DROP TABLE vector")
            self.db.execute("ALTER TABLE vector_next RENAME TO vector")
            for key, value in {**staged, STAGED: None}.items():
                writer.set(key, value)
            writer.touch()
        return True
