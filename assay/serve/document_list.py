"""The documents of a store as a list and one by one, within what a caller may see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from assay.engine.render import chunk_json
from assay.errors import AssayError
from assay.ingest.add_report import AddReport
from assay.ingest.records import parse_record
from assay.kb import KnowledgeBase
from assay.memory.scopes import SOURCE
from assay.serve.reading_order import in_reading_order, origins_of
from assay.serve.visible_documents import AllowedScopes, VisibleDocuments
from assay.types import Rows
from assay.upkeep.inventory import OriginEntry, list_origins
from assay.where import And, Compare, Filter, Not


class NotFound(AssayError):
    """What a request names is not here, or not for this caller."""


def list_documents(
    kb: KnowledgeBase, visible: VisibleDocuments, scopes: AllowedScopes, prefix: str = ""
) -> list[OriginEntry]:
    """Files and records by folder and name. A file with a chunk that the caller may not see is left out."""
    entries = [entry for entry in list_origins(kb.store, prefix) if entry.folder != SOURCE]
    allowed = visible.condition(scopes)
    if scopes is None or allowed is None:
        return entries
    view = kb.snapshot()
    rows = view.live_rows(Not(allowed))
    parts = (view.chunks(rows[start : start + 1_000]) for start in range(0, len(rows), 1_000))
    hidden = {name for part in parts for chunk in part for name in origins_of(chunk.doc_id)}
    return [entry for entry in entries if entry.origin not in hidden]


def read_document(
    kb: KnowledgeBase, visible: VisibleDocuments, scopes: AllowedScopes, name: str, limit: int, offset: int
) -> dict[str, Any]:
    """A page of the chunks of a document, or of a file with several, in the order of the text. A section that was
    rewritten as a whole comes last."""
    view, allowed = kb.snapshot(), visible.condition(scopes)
    rows = _rows_of(kb, name, allowed)
    chunks = in_reading_order(kb, view.chunks(rows))
    if not chunks:
        raise NotFound(f"there is no document called {name[:100]!r}", "names are listed by /documents")
    end = offset + limit
    return {
        "name": name,
        "title": chunks[0].title,
        "tokens": sum(chunk.tokens for chunk in chunks),
        "total": len(chunks),
        "next_offset": end if end < len(chunks) else None,
        "chunks": [chunk_json(chunk) for chunk in chunks[offset:end]],
    }


def _rows_of(kb: KnowledgeBase, name: str, allowed: Filter | None) -> Rows:
    """The rows of a document by its id; else of a file by its name; else of one chunk by its id."""
    view = kb.snapshot()
    for condition in (Compare("doc_id", "=", name), Compare("id", "=", name)):
        rows = view.live_rows(condition if allowed is None else And((allowed, condition)))
        if len(rows):
            return rows
    ids = [head.id for head in kb.store.heads(name)]
    rows = view.rows(np.array(ids)) if ids else np.empty(0, np.int64)
    rows = rows[rows >= 0]
    if allowed is None or not len(rows):
        return rows
    return rows[view.matches(str(allowed), rows)]


def remove_document(kb: KnowledgeBase, visible: VisibleDocuments, scopes: AllowedScopes, name: str) -> int:
    """Remove a file, a record or a document by its whole name; how many chunks. A chunk alone is not removed."""
    _, chunks = kb.store.count_target(name)
    hidden = name == SOURCE or name.startswith(f"{SOURCE}/")
    if hidden or not chunks or len(_rows_of(kb, name, visible.condition(scopes))) != chunks:
        raise NotFound(f"there is no document called {name[:100]!r}", "names are listed by /documents")
    return kb.remove(name)


def add_records(kb: KnowledgeBase, records: Sequence[Mapping[str, Any] | str], folder: str) -> AddReport:
    """Add or replace records under a folder's name. All are checked first: one that cannot be read stops all."""
    for record in records:
        parse_record({"text": record} if isinstance(record, str) else record)
    return kb.add(records, name=folder)
