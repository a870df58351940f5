"""How much is remembered in some scopes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from assay.memory.types import MemoryStats
from assay.memory.window import Window


def counted(window: Window, at: float, *, past: bool) -> MemoryStats:
    """Counts at a moment; `past` says that it was asked for, so that what came or changed later is not counted yet."""
    every = [entry for entry in window.entries() if not past or entry.created <= at]
    old = {entry.id for entry in every if not window.stands(entry, at if past else None)}
    expired = {e.id for e in every if e.id not in old and e.expires is not None and e.expires <= at}
    current = [entry for entry in every if entry.id not in old | expired]
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
