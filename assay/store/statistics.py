"""Counts and history of a store in SQL, for listings and statistics."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from typing import Any

from assay.store.contract import ChunkHead, OriginExtent, StoreCounts, StoreState
from assay.store.rows import ChunkRow, verify_row
from assay.types import Chunk

COLUMNS = "seq, id, doc_id, text, tokens, created, importance, meta"


def decode_row(row: tuple[Any, ...]) -> ChunkRow:
    """A row as stored; ValueError when its chunk is not what was written."""
    decoded = decode_unchecked(row)
    verify_row(decoded.chunk, row[5], row[7], decoded.facts)
    return decoded


def decode_unchecked(row: tuple[Any, ...]) -> ChunkRow:
    seq, name, doc_id, text, tokens, created, importance, meta, facts, born, died = row
    moment = float("nan") if created is None else created
    return ChunkRow(seq, Chunk(name, doc_id, text, tokens, moment, importance, json.loads(meta)), facts, born, died)


def count_chunks(db: sqlite3.Connection) -> StoreCounts:
    chunks, documents, tokens = db.execute(
        "SELECT count(*), count(DISTINCT doc_id), coalesce(sum(tokens), 0) FROM chunk WHERE died IS NULL"
    ).fetchone()
    dead = db.execute("SELECT count(*) FROM chunk WHERE died IS NOT NULL").fetchone()[0]
    languages = db.execute(
        "SELECT coalesce(json_extract(meta, '$.lang'), ''), count(*) FROM chunk WHERE died IS NULL "
        "GROUP BY 1 ORDER BY 2 DESC, 1"
    )
    return StoreCounts(chunks, documents, tokens, dead, {str(name): number for name, number in languages})


def origin_extents(db: sqlite3.Connection, prefix: str) -> Iterator[OriginExtent]:
    rows = db.execute(
        "SELECT origin, count(DISTINCT doc_id), count(*), sum(tokens) FROM chunk "
        "WHERE died IS NULL AND substr(origin, 1, ?) = ? GROUP BY origin",
        (len(prefix), prefix),
    )
    return (OriginExtent(*row) for row in rows)


def heads(db: sqlite3.Connection, origin: str) -> Iterator[ChunkHead]:
    rows = db.execute(
        "SELECT id, doc_id, tokens, substr(text, 1, 200) FROM chunk WHERE origin = ? AND died IS NULL ORDER BY seq",
        (origin,),
    )
    return (ChunkHead(*row) for row in rows)


def count_target(db: sqlite3.Connection, target: str) -> tuple[int, int]:
    below = f"{target}/"
    documents, chunks = db.execute(
        "SELECT count(DISTINCT doc_id), count(*) FROM chunk "
        "WHERE died IS NULL AND (origin = ?1 OR doc_id = ?1 OR substr(origin, 1, ?2) = ?3)",
        (target, len(below), below),
    ).fetchone()
    return documents, chunks


def has_document(db: sqlite3.Connection, doc_id: str) -> bool:
    found = db.execute("SELECT 1 FROM chunk WHERE doc_id = ? AND died IS NULL LIMIT 1", (doc_id,))
    return found.fetchone() is not None


def states(db: sqlite3.Connection, prefix: str) -> list[StoreState]:
    rows = db.execute(
        f"SELECT {COLUMNS}, facts, born, died, b.note, d.note FROM chunk "
        "LEFT JOIN version b ON b.number = born LEFT JOIN version d ON d.number = died "
        "WHERE substr(doc_id, 1, ?) = ? ORDER BY born, seq",
        (len(prefix), prefix),
    )
    return [StoreState(decode_row(row[:11]), row[11] or "", row[12] or "") for row in rows]


def deleted_documents(db: sqlite3.Connection, prefix: str) -> Iterator[tuple[str, Any]]:
    return iter(
        db.execute(
            "SELECT DISTINCT doc_id, json_extract(meta, '$.scope') FROM chunk WHERE died IS NOT NULL "
            "AND substr(doc_id, 1, ?) = ? AND doc_id NOT IN (SELECT doc_id FROM chunk WHERE died IS NULL)",
            (len(prefix), prefix),
        )
    )
