"""JSON of mem0: a list of memories, alone or under `results` or `memories`.

    memory | content | text | data      the text (a vector store's own dump has it under payload.data)
    user_id, agent_id, app_id, run_id   the scope: the first that is there, as user:…, agent:…, app:…, run:…
    categories                          the first is the category, all are tags
    metadata                            its category, tags and importance, where the memory itself has none
    created_at, updated_at, expiration_date

Memories marked as deleted are left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from assay.errors import StoreError
from assay.memory.importers import ImportedMemory, RejectedRecord, clamp_share, read_labels

TEXTS = ("memory", "content", "text", "data")
OWNERS = (("user_id", "user"), ("agent_id", "agent"), ("app_id", "app"), ("run_id", "run"))


def read(source: Path | Iterable[str]) -> Iterator[ImportedMemory | RejectedRecord]:
    try:
        data: Any = json.loads(source.read_text("utf-8-sig") if isinstance(source, Path) else "".join(source))
    except OSError as error:
        raise StoreError(f"{source}: {error.strerror}", "name a file that is there and can be read") from error
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{source} is not JSON: {error}", "give what mem0's get_all or export wrote") from error
    if isinstance(data, dict):
        data = next((data[key] for key in ("results", "memories") if isinstance(data.get(key), list)), data)
    if not isinstance(data, list):
        raise StoreError(f"{source} holds no list of memories", 'mem0 writes [ … ] or {"results": [ … ]}')
    for number, record in enumerate(data, start=1):
        memory = _parse_record(f"memory {number}", record)
        if memory is not None:
            yield memory


def _parse_record(where: str, record: Any) -> ImportedMemory | RejectedRecord | None:
    """One memory; None when it was deleted."""
    if not isinstance(record, dict):
        return RejectedRecord(where, "no object")
    payload = record.get("payload")
    fields: dict[str, Any] = {**payload, "id": record.get("id")} if isinstance(payload, dict) else record
    text = next((fields[key] for key in TEXTS if isinstance(fields.get(key), str)), None)
    if text is None:
        return RejectedRecord(where, f"no text under {', '.join(TEXTS)}")
    if fields.get("state") == "deleted" or fields.get("deleted_at"):
        return None
    extra = fields.get("metadata") or fields.get("metadata_")
    metadata: dict[str, Any] = extra if isinstance(extra, dict) else {}
    kinds = read_labels(fields.get("categories") or metadata.get("category") or ())
    return ImportedMemory(
        where=where,
        text=text,
        id=str(fields.get("id") or ""),
        scope=next((f"{kind}:{fields[key]}" for key, kind in OWNERS if fields.get(key)), None),
        category=kinds[0] if kinds else None,
        importance=clamp_share(metadata.get("importance")),
        tags=tuple(dict.fromkeys((*kinds, *read_labels(metadata.get("tags") or ())))),
        created=fields.get("created_at"),
        updated=fields.get("updated_at"),
        expires=fields.get("expiration_date"),
    )
