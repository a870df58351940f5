"""Exports a store as lines of JSON: one chunk a line, in id order, read in batches."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from assay.backend.contract import StoreSnapshot

_BATCH = 1_000


def export_lines(view: StoreSnapshot, with_vectors: bool) -> Iterator[str]:
    """`{"id", "doc_id", "text", "tokens", "created", "importance", "meta"}`, "vector" if wanted; undated is null."""
    rows = view.live_rows(None)
    for start in range(0, len(rows), _BATCH):
        part = rows[start : start + _BATCH]
        vectors = view.vectors(part) if with_vectors else None
        for position, chunk in enumerate(view.chunks(part)):
            record: dict[str, Any] = {
                "id": chunk.id,
                "doc_id": chunk.doc_id,
                "text": chunk.text,
                "tokens": chunk.tokens,
                "created": None if chunk.created != chunk.created else chunk.created,
                "importance": chunk.importance,
                "meta": dict(chunk.meta),
            }
            if vectors is not None:
                record["vector"] = [float(x) for x in vectors[position]]
            yield json.dumps(record, ensure_ascii=False)
