"""The SQLite database of claude-memory-mcp (its schema versions 1 to 4).

    memories(id, content, type, importance 0 to 10, created_at, last_accessed, expires_at, metadata, is_deleted)
    entities(id, name), memory_entities(memory_id, entity_id)

Times are milliseconds. Tags are in the metadata; the names of a memory's entities become tags too. Memories marked as
deleted are left out. The database has no scopes.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from assay.errors import StoreError
from assay.memory.importers import ImportedMemory, RejectedRecord, clamp_share, read_labels

_MEMORIES = (
    "SELECT id, content, type, importance, created_at, expires_at, metadata FROM memories "
    "WHERE is_deleted = 0 ORDER BY created_at, id"
)
_ENTITIES = (
    "SELECT memory_id, name FROM memory_entities JOIN entities ON entities.id = entity_id ORDER BY memory_id, name"
)


def read(source: Path | Iterable[str]) -> Iterator[ImportedMemory | RejectedRecord]:
    if not isinstance(source, Path) or not source.is_file():
        raise StoreError(f"there is no database at {source}", "name its .db file")
    try:
        with contextlib.closing(sqlite3.connect(f"file:{quote(str(source.resolve()))}?mode=ro", uri=True)) as db:
            entities: dict[str, list[str]] = {}
            for memory, name in db.execute(_ENTITIES):
                entities.setdefault(memory, []).append(name)
            for row in db.execute(_MEMORIES):
                yield _parse_row(row, entities.get(row[0], []))
    except sqlite3.Error as error:
        raise StoreError(f"{source} is no database of claude-memory-mcp: {error}", "name its .db file") from error


def _parse_row(row: tuple[Any, ...], entities: list[str]) -> ImportedMemory | RejectedRecord:
    name, text, kind, importance, created, expires, metadata = row
    if not isinstance(text, str):
        return RejectedRecord(str(name), "its content is no text")
    with contextlib.suppress(ValueError, TypeError, RecursionError):
        metadata = json.loads(metadata)
    tags = metadata.get("tags", ()) if isinstance(metadata, dict) else ()
    return ImportedMemory(
        where=str(name),
        text=text,
        id=str(name),
        category=kind,
        importance=clamp_share(importance / 10.0) if isinstance(importance, int | float) else None,
        tags=tuple(dict.fromkeys((*read_labels(tags), *read_labels(entities)))),
        created=created,
        expires=expires,
    )
