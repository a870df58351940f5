"""How much is remembered in some scopes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from assay.memory.types import MemoryStats
from assay.memory.window import Window


def counted(window: Window, at: float) -> MemoryStats:
    every = list(window.entries())
    old = [entry for entry in every if entry.superseded_by]
    expired = [e for e in every if not e.superseded_by and e.expires is not None and e.expires <= at]
    gone = {entry.id for entry in (*old, *expired)}
    current = [entry for entry in every if entry.id not in gone]
    return MemoryStats(
        scopes=window.scopes.names,
        memories=len(current),
        superseded=len(old),
        expired=len(expired),
        hidden=window.hidden(),
        tokens=sum(entry.tokens for entry in current),
        by_scope=_most(entry.scope for entry in current),
        by_category=_most(entry.category for entry in current),
        by_tag=_most(tag for entry in current for tag in entry.tags),
        oldest=min((entry.created for entry in current), default=None),
        newest=max((entry.created for entry in current), default=None),
    )


def _most(names: Iterable[str]) -> dict[str, int]:
    """Name → count, most first, then by name."""
    return dict(sorted(Counter(names).items(), key=lambda pair: (-pair[1], pair[0])))
