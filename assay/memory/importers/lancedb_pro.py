"""The LanceDB folder of memory-lancedb-pro: its table `memories`.

    id, text, vector, category, scope, importance, timestamp (milliseconds), metadata (JSON)

Of the metadata `valid_until`, `invalidated_at`, `superseded_by` and `tags` are read. An invalidated memory becomes a
superseded one if its successor is in the table too; otherwise it expires at that moment, so that it does not count as
current. Vectors are not imported: they belong to another model. A row without a scope needs one from the import.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Set
from pathlib import Path
from typing import Any

from assay.errors import MissingExtra, StoreError
from assay.memory.importers import ImportedMemory, RejectedRecord, clamp_share, read_labels

TABLE = "memories"
COLUMNS = ("id", "text", "category", "scope", "importance", "timestamp", "metadata")
_SCHEMA_ROW = "__schema__"


def read(source: Path | Iterable[str]) -> Iterator[ImportedMemory | RejectedRecord]:
    try:
        import lancedb
    except ImportError as error:
        raise MissingExtra("reading a LanceDB table", "lance") from error
    if not isinstance(source, Path) or not source.is_dir():
        raise StoreError(f"there is no LanceDB folder at {source}", "name the folder that holds memories.lance")
    try:
        table = lancedb.connect(str(source)).open_table(TABLE)
    except (ValueError, OSError, RuntimeError) as error:
        raise StoreError(
            f"{source} has no table {TABLE!r}: {error}", "name the folder that holds memories.lance"
        ) from error
    columns = [name for name in COLUMNS if name in table.schema.names]
    if not {"id", "text"} <= set(columns):
        raise StoreError(f"the table {TABLE!r} of {source} has no text", "it is not one of memory-lancedb-pro")
    rows = table.to_arrow().select(columns).to_pylist()
    ids = {str(row["id"]) for row in rows}
    for row in sorted(rows, key=lambda row: (row.get("timestamp") or 0, str(row["id"]))):
        if row["id"] != _SCHEMA_ROW:
            yield _parse_row(row, ids)


def _parse_row(row: dict[str, Any], ids: Set[str]) -> ImportedMemory | RejectedRecord:
    if not isinstance(row["text"], str):
        return RejectedRecord(str(row["id"]), "its text is missing")
    metadata: Any = {}
    with contextlib.suppress(ValueError, TypeError, RecursionError):
        metadata = json.loads(row.get("metadata") or "{}")
    metadata = metadata if isinstance(metadata, dict) else {}
    successor = str(metadata.get("superseded_by") or "")
    ends = [metadata.get("valid_until"), None if successor in ids else metadata.get("invalidated_at")]
    return ImportedMemory(
        where=str(row["id"]),
        text=row["text"],
        id=str(row["id"]),
        scope=row.get("scope") or "",
        category=row.get("category"),
        importance=clamp_share(row.get("importance")),
        tags=read_labels(metadata.get("tags") or ()),
        created=row.get("timestamp") or None,
        expires=min((end for end in ends if isinstance(end, int | float) and end > 0), default=None),
        superseded_by=successor if successor in ids else "",
    )
