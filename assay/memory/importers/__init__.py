"""Memories from elsewhere: one reader per format, each in its own file, imported when it is named.

| format | what |
|---|---|
| `jsonl` | our own export: a JSON object per line |
| `mem0` | JSON of mem0: what `get_all` or an export gives |
| `claude-memory-mcp` | the SQLite database of claude-memory-mcp |
| `memory-lancedb-pro` | the LanceDB folder of memory-lancedb-pro (needs the extra `lance`) |

A reader takes a path (`jsonl` also takes lines) and gives a `Given` per memory or a `Bad` per record it cannot take.
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
class Given:
    """A memory as another program held it. None: it did not say. Dates are as it wrote them."""

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
class Bad:
    """A record that is no memory, and why."""

    where: str
    why: str


Reader = Callable[[Path | Iterable[str]], Iterator[Given | Bad]]


def reader(name: str) -> Reader:
    """The reader of a format; ConfigError for an unknown one."""
    if name not in IMPORTERS:
        raise ConfigError(f"no importer is called {name!r}", nearest(name, IMPORTERS))
    module, _, function = IMPORTERS[name].partition(":")
    found: Reader = getattr(import_module(module), function)
    return found


def words(value: Any) -> tuple[str, ...]:
    """A list of labels from whatever a program kept under that name."""
    members = value if isinstance(value, list | tuple) else [value]
    return tuple(dict.fromkeys(m.strip()[:100] for m in members if isinstance(m, str) and m.strip()))


def part(value: Any) -> float | None:
    """A number in [0, 1]; what lies outside is held to it, what is no number is None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return None
    return min(1.0, max(0.0, float(value)))
