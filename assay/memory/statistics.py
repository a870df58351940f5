"""Counts the memories of a view."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from assay.memory.scoped_view import ScopedView
from assay.memory.types import MemoryStats


def count_memories(view: ScopedView, at: float, *, past: bool) -> MemoryStats:
    """Count memories at a moment; with `past`, what was created or changed later does not count."""
    entries = [entry for entry in view.entries() if not past or entry.created <= at]
    superseded = {entry.id for entry in entries if not view.is_current(entry, at if past else None)}
    expired = {e.id for e in entries if e.id not in superseded and e.expires is not None and e.expires <= at}
    current = [entry for entry in entries if entry.id not in superseded | expired]
    return MemoryStats(
        scopes=view.scopes.names,
        memories=len(current),
        superseded=len(superseded),
        expired=len(expired),
        hidden=view.count_hidden(),
        tokens=sum(entry.tokens for entry in current),
        by_scope=_count_by_name(entry.scope for entry in current),
        by_category=_count_by_name(entry.category for entry in current),
        by_tag=_count_by_name(tag for entry in current for tag in entry.tags),
        oldest=min((entry.created for entry in current), default=None),
        newest=max((entry.created for entry in current), default=None),
    )


def _count_by_name(names: Iterable[str]) -> dict[str, int]:
    """Name → count, most first, then by name."""
    return dict(sorted(Counter(names).items(), key=lambda pair: (-pair[1], pair[0])))
