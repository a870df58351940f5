"""Our own export: a line of JSON per memory, as `Entry.to_json` writes it. Only `text` is required."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from assay.errors import StoreError
from assay.memory.importers import Bad, Given, part, words


def read(source: Path | Iterable[str]) -> Iterator[Given | Bad]:
    for number, line in enumerate(_lines(source), start=1):
        if line.strip():
            yield _given(f"line {number}", line)


def _lines(source: Path | Iterable[str]) -> Iterator[str]:
    if not isinstance(source, Path):
        yield from source
        return
    try:
        with source.open(encoding="utf-8-sig", errors="replace") as file:
            yield from file
    except OSError as error:
        raise StoreError(f"{source}: {error.strerror}", "name a file that is there and can be read") from error


def _given(where: str, line: str) -> Given | Bad:
    try:
        said: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        return Bad(where, f"not JSON: {error}")
    if not isinstance(said, dict) or not isinstance(said.get("text"), str):
        return Bad(where, 'no object with a "text"')
    return Given(
        where=where,
        text=said["text"],
        id=str(said.get("id") or ""),
        scope=said.get("scope"),
        category=said.get("category"),
        importance=part(said.get("importance")),
        tags=words(said.get("tags") or ()),
        created=said.get("created"),
        updated=said.get("updated"),
        expires=said.get("expires"),
        superseded_by=str(said.get("superseded_by") or ""),
    )
