"""The index of a table of vectors: HNSW over half precision, built beside readers and writers, by one at a time."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg

INDEX_FROM = 10_000
"""Rows from which the index is built and asked; below, every visible vector is looked at."""
MOST_INDEXED = 4_000
"""The longest vectors that pgvector indexes in half precision."""
_EDGES, _WIDTH = 16, 64
"""HNSW's m and ef_construction, pgvector's own defaults."""


def index_name(table: str) -> str:
    return f"{table}_near"


def build(db: psycopg.Connection[Any], schema: str, table: str, dim: int, least: int) -> bool:
    """Build what is missing, once there are enough vectors; False when nothing was, or another process is at it.

    Over a connection outside any transaction. What a killed process left half-made is removed and begun again.
    """
    if not table or dim > MOST_INDEXED:
        return False
    name = index_name(table)
    with _only_one(db, schema) as mine:
        counted = db.execute(f"SELECT count(*) FROM (SELECT 1 FROM {table} LIMIT %s) AS first", (least,)).fetchone()
        state = db.execute("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", (name,)).fetchone()
        if not mine or counted is None or counted[0] < least or (state is not None and state[0]):
            return False
        db.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
        db.execute(
            f"CREATE INDEX CONCURRENTLY {name} ON {table} USING hnsw ((v::halfvec({dim})) halfvec_ip_ops) "
            f"WITH (m = {_EDGES}, ef_construction = {_WIDTH})"
        )
    return True


@contextlib.contextmanager
def _only_one(db: psycopg.Connection[Any], schema: str) -> Iterator[bool]:
    """True for the one process that gets the turn; it is given back at the end, or when the connection ends."""
    name = f"assay/{schema}/indexing"
    row = db.execute("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", (name,)).fetchone()
    mine = bool(row and row[0])
    try:
        yield mine
    finally:
        if mine and not db.closed:
            db.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", (name,))
