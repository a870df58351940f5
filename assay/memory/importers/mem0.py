"""JSON of mem0: a list of memories, alone or under `results` or `memories`.

    memory | content | text | data      the text (a vector store's own dump has it under payload.data)
    user_id, agent_id, app_id, run_id   the scope: the first that is there, as user:…, agent:…, app:…, run:…
    categories                          the first is the category, all are tags
    metadata                            its category, tags and importance, where the memory itself has none
    created_at, updated_at, expiration_date

What is marked as deleted stays behind.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from assay.errors import StoreError
from assay.memory.importers import Bad, Given, part, words

TEXTS = ("memory", "content", "text", "data")
OWNERS = (("user_id", "user"), ("agent_id", "agent"), ("app_id", "app"), ("run_id", "run"))


def read(source: Path | Iterable[str]) -> Iterator[Given | Bad]:
    try:
        said: Any = json.loads(source.read_text("utf-8-sig") if isinstance(source, Path) else "".join(source))
    except OSError as error:
        raise StoreError(f"{source}: {error.strerror}", "name a file that is there and can be read") from error
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{source} is not JSON: {error}", "give what mem0's get_all or export wrote") from error
    if isinstance(said, dict):
        said = next((said[key] for key in ("results", "memories") if isinstance(said.get(key), list)), said)
    if not isinstance(said, list):
        raise StoreError(f"{source} holds no list of memories", 'mem0 writes [ … ] or {"results": [ … ]}')
    for number, record in enumerate(said, start=1):
        given = _given(f"memory {number}", record)
        if given is not None:
            yield given


def _given(where: str, record: Any) -> Given | Bad | None:
    """One memory; None when it was deleted."""
    if not isinstance(record, dict):
        return Bad(where, "no object")
    payload = record.get("payload")
    said: dict[str, Any] = {**payload, "id": record.get("id")} if isinstance(payload, dict) else record
    text = next((said[key] for key in TEXTS if isinstance(said.get(key), str)), None)
    if text is None:
        return Bad(where, f"no text under {', '.join(TEXTS)}")
    if said.get("state") == "deleted" or said.get("deleted_at"):
        return None
    extra = said.get("metadata") or said.get("metadata_")
    more: dict[str, Any] = extra if isinstance(extra, dict) else {}
    kinds = words(said.get("categories") or more.get("category") or ())
    return Given(
        where=where,
        text=text,
        id=str(said.get("id") or ""),
        scope=next((f"{kind}:{said[key]}" for key, kind in OWNERS if said.get(key)), None),
        category=kinds[0] if kinds else None,
        importance=part(more.get("importance")),
        tags=tuple(dict.fromkeys((*kinds, *words(more.get("tags") or ())))),
        created=said.get("created_at"),
        updated=said.get("updated_at"),
        expires=said.get("expiration_date"),
    )
