"""Builds the index of a table of vectors: HNSW in half precision, without blocking readers or writers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg

INDEX_FROM = 10_000
"""Rows from which the index is built and used; below, search is exact."""
MAX_INDEXED_DIM = 4_000
"""The longest vectors that pgvector indexes in half precision."""
_EDGES, _WIDTH = 16, 64
"""HNSW's m and ef_construction, pgvector's own defaults."""


def index_name(table: str) -> str:
    return f"{table}_near"


def build(db: psycopg.Connection[Any], schema: str, table: str, dim: int, least: int) -> bool:
    """Build the index once there are enough vectors; False when it exists, or another process builds it.

    Needs a connection outside any transaction. An invalid index that a killed process left is dropped first.
    """
    if not table or dim > MAX_INDEXED_DIM:
        return False
    name = index_name(table)
    with _index_lock(db, schema) as is_ours:
        counted = db.execute(f"SELECT count(*) FROM (SELECT 1 FROM {table} LIMIT %s) AS first", (least,)).fetchone()
        state = db.execute("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", (name,)).fetchone()
        if not is_ours or counted is None or counted[0] < least or (state is not None and state[0]):
            return False
        db.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
        db.execute(
            f"CREATE INDEX CONCURRENTLY {name} ON {table} USING hnsw ((v::halfvec({dim})) halfvec_ip_ops) "
            f"WITH (m = {_EDGES}, ef_construction = {_WIDTH})"
        )
    return True


@contextlib.contextmanager
def _index_lock(db: psycopg.Connection[Any], schema: str) -> Iterator[bool]:
    """Try to take the advisory lock of index builders; it is released at the end, or when the connection ends."""
    name = f"assay/{schema}/indexing"
    row = db.execute("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", (name,)).fetchone()
    is_ours = bool(row and row[0])
    try:
        yield is_ours
    finally:
        if is_ours and not db.closed:
            db.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", (name,))
