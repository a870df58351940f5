"""Importers of memories from other programs: one reader per format, loaded when it is named.

| format | what |
|---|---|
| `jsonl` | our own export: a JSON object per line |
| `mem0` | JSON of mem0: what `get_all` or an export gives |
| `claude-memory-mcp` | the SQLite database of claude-memory-mcp |
| `memory-lancedb-pro` | the LanceDB folder of memory-lancedb-pro (needs the extra `lance`) |

A reader takes a path (`jsonl` also takes lines) and yields an `ImportedMemory` per memory or a `RejectedRecord` per
record it cannot use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from assay.errors import ConfigError, nearest

IMPORTERS: Mapping[str, str] = {
    "jsonl": "assay.memory.importers.jsonl:read",
    "mem0": "assay.memory.importers.mem0:read",
    "claude-memory-mcp": "assay.memory.importers.claude_memory_mcp:read",
    "memory-lancedb-pro": "assay.memory.importers.lancedb_pro:read",
}


@dataclass(frozen=True, slots=True)
class ImportedMemory:
    """A memory from another program. None means that a field is absent. Dates are as written there."""

    where: str
    text: str
    id: str = ""
    scope: str | None = None
    category: str | None = None
    importance: float | None = None
    tags: tuple[str, ...] = ()
    created: str | float | None = None
    updated: str | float | None = None
    expires: str | float | None = None
    superseded_by: str = ""


@dataclass(frozen=True, slots=True)
class RejectedRecord:
    """A record that is not a memory, and why."""

    where: str
    why: str


ImportReader = Callable[[Path | Iterable[str]], Iterator[ImportedMemory | RejectedRecord]]


def load_reader(name: str) -> ImportReader:
    """Load the reader of a format; ConfigError for an unknown one."""
    if name not in IMPORTERS:
        raise ConfigError(f"no importer is called {name!r}", nearest(name, IMPORTERS))
    module, _, function = IMPORTERS[name].partition(":")
    read: ImportReader = getattr(import_module(module), function)
    return read


def read_labels(value: Any) -> tuple[str, ...]:
    """Labels from a field that holds a string or a list."""
    members = value if isinstance(value, list | tuple) else [value]
    return tuple(dict.fromkeys(m.strip()[:100] for m in members if isinstance(m, str) and m.strip()))


def clamp_share(value: Any) -> float | None:
    """Clamp a number to [0, 1]; None for other values."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return None
    return min(1.0, max(0.0, float(value)))
