"""The LanceDB folder of memory-lancedb-pro: its table `memories`.

    id, text, vector, category, scope, importance, timestamp (milliseconds), metadata (JSON)

Of the metadata `valid_until`, `invalidated_at`, `superseded_by` and `tags` are read. A memory that was invalidated is
superseded where its successor is in the table too; where it is not, it expires at that moment, for it must not come
back as the truth. Vectors are left behind: they are another model's. A row without a scope belongs to nobody there, so
here it needs one given to the import.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Set
from pathlib import Path
from typing import Any

from assay.errors import MissingExtra, StoreError
from assay.memory.importers import Bad, Given, part, words

TABLE = "memories"
COLUMNS = ("id", "text", "category", "scope", "importance", "timestamp", "metadata")
_SCHEMA_ROW = "__schema__"


def read(source: Path | Iterable[str]) -> Iterator[Given | Bad]:
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
    known = [name for name in COLUMNS if name in table.schema.names]
    if not {"id", "text"} <= set(known):
        raise StoreError(f"the table {TABLE!r} of {source} has no text", "it is not one of memory-lancedb-pro")
    rows = table.to_arrow().select(known).to_pylist()
    there = {str(row["id"]) for row in rows}
    for row in sorted(rows, key=lambda row: (row.get("timestamp") or 0, str(row["id"]))):
        if row["id"] != _SCHEMA_ROW:
            yield _given(row, there)


def _given(row: dict[str, Any], there: Set[str]) -> Given | Bad:
    if not isinstance(row["text"], str):
        return Bad(str(row["id"]), "its text is missing")
    more: Any = {}
    with contextlib.suppress(ValueError, TypeError, RecursionError):
        more = json.loads(row.get("metadata") or "{}")
    more = more if isinstance(more, dict) else {}
    successor = str(more.get("superseded_by") or "")
    ends = [more.get("valid_until"), None if successor in there else more.get("invalidated_at")]
    return Given(
        where=str(row["id"]),
        text=row["text"],
        id=str(row["id"]),
        scope=row.get("scope") or "",
        category=row.get("category"),
        importance=part(row.get("importance")),
        tags=words(more.get("tags") or ()),
        created=row.get("timestamp") or None,
        expires=min((end for end in ends if isinstance(end, int | float) and end > 0), default=None),
        superseded_by=successor if successor in there else "",
    )
