"""Finds damage of a SQLite store, and accepts the state of a damaged one."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import StoreError
from assay.store.commit_journal import ACCEPT, CommitJournal
from assay.store.db_errors import translate_errors
from assay.store.rows import decode_vector, digest_chunk
from assay.store.statistics import COLUMNS, decode_unchecked

if TYPE_CHECKING:
    from assay.store.sqlite import SqliteStore

COUNT_LIVE = "SELECT count(*) FROM chunk WHERE died IS NULL"


def find_damage(store: SqliteStore, deep: bool) -> str:
    """SQLite's own check of every page; `deep` adds its indexes, every chunk against the digest of its facts, and every
    vector against its checksum."""
    try:
        check = "PRAGMA integrity_check(5)" if deep else "PRAGMA quick_check(5)"
        problems = [row[0] for row in store.db.execute(check)]
        if problems != ["ok"] or not deep:
            return "" if problems == ["ok"] else f"it is damaged: {'; '.join(problems)}"
        rows = store.db.execute(f"SELECT {COLUMNS}, facts, born, died FROM chunk ORDER BY seq")
        wrong = [row.chunk.id for row in map(decode_unchecked, rows) if digest_chunk(row.chunk) != row.facts]
        vectors = [f"the vector of row {seq}" for seq in _find_damaged_vectors(store)]
    except (sqlite3.DatabaseError, ValueError, StoreError) as error:
        return f"it is damaged: {error}"
    if wrong:
        return f"{len(wrong)} chunks are not what was written: {', '.join(wrong[:3])}"
    return f"{len(vectors)} vectors are not what was written: {', '.join(vectors[:3])}" if vectors else ""


def _find_damaged_vectors(store: SqliteStore) -> Iterator[int]:
    for seq, value in store.db.execute("SELECT seq, value FROM vector ORDER BY seq"):
        try:
            decode_vector(seq, value, store.settings["dim"])
        except ValueError:
            yield seq


def accept_state(database: Path) -> int:
    """Write the present version and number of chunks into the database and its journal; the version."""
    with translate_errors(database.parent), contextlib.closing(sqlite3.connect(database)) as db:
        version = int(db.execute("SELECT max(number) FROM version").fetchone()[0])
        owner = db.execute("SELECT value FROM setting WHERE key = 'journal'").fetchone()
        live = db.execute(COUNT_LIVE).fetchone()[0]
        with db:
            db.execute("INSERT OR REPLACE INTO setting VALUES ('live', ?)", (json.dumps(live),))
    if owner is not None:
        CommitJournal(database, json.loads(owner[0]), readonly=False).accept(version)
    return version


def check_live(store: SqliteStore, expected: int | None, found: int) -> None:
    """StoreError when another number of chunks is live than was written (the setting `live`, None if unknown)."""
    if expected is not None and expected != found:
        raise StoreError(f"{store.place} is damaged: {found:,} chunks are live, and {expected:,} were written", ACCEPT)
