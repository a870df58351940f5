"""Moves a store to another model: new vectors go into a table of their own, which is indexed before it serves."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from assay.backend.postgres import hnsw
from assay.backend.postgres.connections import Address, connect_once
from assay.backend.postgres.schema import create_vector_table, require_pgvector
from assay.backend.postgres.vector_type import VectorCodec
from assay.backend.postgres.writer import PostgresWriter
from assay.store.contract import STAGED, require_staged
from assay.store.validation import check_vector
from assay.types import Vector

if TYPE_CHECKING:
    import psycopg

_LACKING = "FROM chunk c LEFT JOIN {} v USING (seq) WHERE v.seq IS NULL"
_T = TypeVar("_T")


class _PostgresTables(Protocol):
    settings: dict[str, Any]

    @property
    def where(self) -> Address: ...
    def setting(self, key: str) -> Any: ...
    def read(self, work: Callable[[psycopg.Connection[Any]], _T]) -> _T: ...
    def write(self, note: str) -> AbstractContextManager[PostgresWriter]: ...
    def autocommit(self) -> AbstractContextManager[psycopg.Connection[Any]]: ...
    def forget_connections(self) -> None: ...


class PostgresStaging:
    """The methods of `contract.ChunkStore` that move a store in PostgreSQL to another model."""

    def stage(self: _PostgresTables, embedder: str, model: str, dim: int) -> int:
        """Begin a move to a model, or go on with it; how many rows still lack a vector of it."""
        with connect_once(self.where) as db:
            require_pgvector(db, str(self.where))
        self.forget_connections()  # older connections do not know pgvector's types
        target = {"embedder": embedder, "model": model, "dim": dim}
        with self.write(f"embed with {embedder}") as writer:
            staged = _read_staged(writer.db) or {}
            table = staged.get("table", "")
            if {**staged, "table": ""} != {**target, "table": ""}:
                if table:
                    writer.db.execute(f"DROP TABLE {table}")
                table = _next_table(self.settings["vectors"], table)
                create_vector_table(writer.db, table, dim)
                writer.set(STAGED, {**target, "table": table})
            row = writer.db.execute(f"SELECT count(*) {_LACKING.format(table)}").fetchone()
        return int(row[0]) if row else 0

    def rows_without_staged_vector(self: _PostgresTables, after: int, most: int) -> list[int]:
        """Rows after seq `after`, live or deleted, that have no vector of the next model yet."""
        staged = self.setting(STAGED)
        if not staged:
            return []
        statement = f"SELECT seq {_LACKING.format(staged['table'])} AND c.seq > %s ORDER BY c.seq LIMIT %s"
        return [row[0] for row in self.read(lambda db: db.execute(statement, (after, most)).fetchall())]

    def put_staged(self: _PostgresTables, model: str, vectors: Sequence[tuple[int, Vector]]) -> None:
        with self.write("embed") as writer:
            staged = require_staged(_read_staged(writer.db), model, str(self.where))
            for seq, vector in vectors:
                check_vector(f"row {seq}", vector, staged["dim"])
            # A row may have been erased since it was read; its vector must not be inserted.
            statement = f"INSERT INTO {staged['table']} SELECT seq, %b FROM chunk WHERE seq = %b ON CONFLICT DO NOTHING"
            with writer.db.cursor() as cursor:
                cursor.executemany(statement, [(VectorCodec(vector), seq) for seq, vector in vectors])

    def adopt(self: _PostgresTables, model: str, note: str) -> bool:
        """Switch the store to the next model in one transaction; False when rows still lack its vector."""
        waiting = self.setting(STAGED)
        if waiting:  # indexed before it serves, so that no search waits for the build
            with self.autocommit() as db:
                hnsw.build(db, self.where.schema, waiting["table"], waiting["dim"], hnsw.INDEX_FROM)
        with self.write(note) as writer:
            db, staged = writer.db, require_staged(_read_staged(writer.db), model, str(self.where))
            if db.execute(f"SELECT 1 {_LACKING.format(staged['table'])} LIMIT 1").fetchone():
                return False
            before = self.settings["vectors"]
            settings = {key: staged[key] for key in ("embedder", "model", "dim")}
            for key, value in {**settings, "vectors": staged["table"], STAGED: None}.items():
                writer.set(key, value)
            if before:
                db.execute(f"DROP TABLE {before}")
            writer.touch()
        return True


def _read_staged(db: psycopg.Connection[Any]) -> dict[str, Any] | None:
    row = db.execute("SELECT value FROM setting WHERE key = %s", (STAGED,)).fetchone()
    found: dict[str, Any] | None = json.loads(row[0]) if row else None
    return found


def _next_table(*tables: str) -> str:
    """A table name that neither the current table has nor the one just dropped."""
    return f"vector_{1 + max((int(name.removeprefix('vector_')) for name in tables if name), default=0)}"
