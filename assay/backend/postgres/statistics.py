"""Counts, history and damage checks of a store, in SQL; nothing here is used by search."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from assay.errors import StoreError
from assay.store.contract import ChunkHead, OriginExtent, StoreCounts, StoreState
from assay.store.rows import ChunkRow, verify_row
from assay.types import Chunk

if TYPE_CHECKING:
    import psycopg

COLUMNS = "seq, id, doc_id, text, tokens, created, importance, meta, facts, born, died"


def decode_row(row: tuple[Any, ...]) -> ChunkRow:
    seq, name, doc_id, text, tokens, created, importance, meta, facts, born, died = row
    moment = float("nan") if created is None else created
    chunk = Chunk(name, doc_id, text, tokens, moment, importance, json.loads(meta))
    try:
        verify_row(chunk, created, meta, facts)
    except ValueError as error:
        raise StoreError(f"the database is damaged: {error}", "restore a dump of the database") from error
    return ChunkRow(seq, chunk, facts, born, died)


def count_chunks(db: psycopg.Connection[Any]) -> StoreCounts:
    row = db.execute(
        "SELECT count(*), count(DISTINCT doc_id), coalesce(sum(tokens), 0)::bigint FROM chunk WHERE died IS NULL"
    ).fetchone()
    dead = db.execute("SELECT count(*) FROM chunk WHERE died IS NOT NULL").fetchone()
    assert row is not None
    assert dead is not None
    languages = db.execute(
        "SELECT coalesce(fields #>> '{lang,0}', '') COLLATE \"C\", count(*) FROM chunk WHERE died IS NULL "
        "GROUP BY 1 ORDER BY 2 DESC, 1"
    )
    return StoreCounts(row[0], row[1], row[2], dead[0], dict(languages.fetchall()))


def origin_extents(db: psycopg.Connection[Any], prefix: str) -> list[OriginExtent]:
    found = db.execute(
        "SELECT origin, count(DISTINCT doc_id), count(*), sum(tokens)::bigint FROM chunk "
        "WHERE died IS NULL AND starts_with(origin, %s) GROUP BY origin",
        (prefix,),
    )
    return [OriginExtent(*row) for row in found]


def heads(db: psycopg.Connection[Any], origin: str) -> list[ChunkHead]:
    rows = db.execute(
        "SELECT id, doc_id, tokens, left(text, 200) FROM chunk JOIN body USING (seq) "
        "WHERE origin = %s AND died IS NULL ORDER BY seq",
        (origin,),
    )
    return [ChunkHead(*row) for row in rows]


def count_target(db: psycopg.Connection[Any], target: str) -> tuple[int, int]:
    row = db.execute(
        "SELECT count(DISTINCT doc_id), count(*) FROM chunk WHERE died IS NULL "
        "AND (origin = %(name)s OR doc_id = %(name)s OR starts_with(origin, %(below)s))",
        {"name": target, "below": f"{target}/"},
    ).fetchone()
    assert row is not None
    return row[0], row[1]


def sizes(db: psycopg.Connection[Any]) -> dict[str, int]:
    """Bytes of the tables and of their indexes."""
    row = db.execute(
        "SELECT coalesce(sum(pg_table_size(oid)), 0)::bigint, coalesce(sum(pg_indexes_size(oid)), 0)::bigint "
        "FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'"
    ).fetchone()
    assert row is not None
    return {"database": row[0], "index": row[1]}


def states(db: psycopg.Connection[Any], prefix: str) -> list[StoreState]:
    found = db.execute(
        f"SELECT {COLUMNS}, b.note, d.note FROM chunk JOIN body USING (seq) "
        "LEFT JOIN version b ON b.number = born LEFT JOIN version d ON d.number = died "
        "WHERE starts_with(doc_id, %s) ORDER BY born, seq",
        (prefix,),
    )
    return [StoreState(decode_row(row[:11]), row[11] or "", row[12] or "") for row in found]


def deleted_documents(db: psycopg.Connection[Any], prefix: str) -> list[tuple[str, Any]]:
    """(document, scope) of deleted documents whose id has this prefix and whose rows are still stored."""
    return db.execute(
        "SELECT DISTINCT doc_id, fields #>> '{scope,0}' FROM chunk c "
        "WHERE died IS NOT NULL AND starts_with(doc_id, %s) "
        "AND NOT EXISTS (SELECT 1 FROM chunk l WHERE l.doc_id = c.doc_id AND l.died IS NULL)",
        (prefix,),
    ).fetchall()


def find_damage(db: psycopg.Connection[Any], deep: bool) -> str:
    """Invalid indexes and lost texts; `deep` also checks every chunk's digest and recounts terms."""
    invalid = db.execute(
        "SELECT relname FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid "
        "WHERE relnamespace = current_schema()::regnamespace AND NOT indisvalid"
    ).fetchall()
    if invalid:
        return f"an index was left half-made: {', '.join(row[0] for row in invalid)}; assay optimize makes it anew"
    lost = db.execute("SELECT count(*) FROM chunk LEFT JOIN body USING (seq) WHERE body.seq IS NULL").fetchone()
    if lost and lost[0]:
        return f"{lost[0]} chunks have lost their text"
    if not deep:
        return ""
    try:
        for row in db.execute(f"SELECT {COLUMNS} FROM chunk JOIN body USING (seq) ORDER BY seq"):
            decode_row(row)
    except StoreError as error:
        return error.message
    miscounted = db.execute(
        "SELECT count(*) FROM term LEFT JOIN (SELECT t, count(*) AS n FROM chunk, unnest(terms) AS t "
        "WHERE died IS NULL GROUP BY t) AS live ON t = number WHERE holding <> coalesce(n, 0)"
    ).fetchone()
    return f"{miscounted[0]} terms are miscounted" if miscounted and miscounted[0] else ""
