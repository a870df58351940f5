"""Our own export: a line of JSON per memory, as `MemoryEntry.to_json` writes it. Only `text` is required."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from assay.errors import StoreError
from assay.memory.importers import ImportedMemory, RejectedRecord, clamp_share, read_labels


def read(source: Path | Iterable[str]) -> Iterator[ImportedMemory | RejectedRecord]:
    for number, line in enumerate(_lines(source), start=1):
        if line.strip():
            yield _parse_line(f"line {number}", line)


def _lines(source: Path | Iterable[str]) -> Iterator[str]:
    if not isinstance(source, Path):
        yield from source
        return
    try:
        with source.open(encoding="utf-8-sig", errors="replace") as file:
            yield from file
    except OSError as error:
        raise StoreError(f"{source}: {error.strerror}", "name a file that is there and can be read") from error


def _parse_line(where: str, line: str) -> ImportedMemory | RejectedRecord:
    try:
        record: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        return RejectedRecord(where, f"not JSON: {error}")
    if not isinstance(record, dict) or not isinstance(record.get("text"), str):
        return RejectedRecord(where, 'no object with a "text"')
    return ImportedMemory(
        where=where,
        text=record["text"],
        id=str(record.get("id") or ""),
        scope=record.get("scope"),
        category=record.get("category"),
        importance=clamp_share(record.get("importance")),
        tags=read_labels(record.get("tags") or ()),
        created=record.get("created"),
        updated=record.get("updated"),
        expires=record.get("expires"),
        superseded_by=str(record.get("superseded_by") or ""),
    )
