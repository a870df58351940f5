"""Selects the memories that `forget` removes, and checks confirmations."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Sequence

from assay.errors import QueryError, StoreError
from assay.memory.scoped_view import ScopedView
from assay.memory.types import ForgetOutcome, MemoryEntry


def with_predecessors(view: ScopedView, entries: Sequence[MemoryEntry]) -> tuple[MemoryEntry, ...]:
    """Add all memories that these superseded; they are only served as their successors."""
    by_id = {entry.id: entry for entry in entries}
    for entry in entries:
        by_id |= {
            predecessor.id: predecessor for predecessor in view.predecessors(entry) if predecessor.id not in by_id
        }
    return tuple(by_id.values())


def find_targets(view: ScopedView, prefix: str, purge: bool) -> tuple[MemoryEntry, ...]:
    """Find the memory of an id and those it superseded; a purge also finds memories forgotten before."""
    try:
        entries = with_predecessors(view, [view.get(prefix)])
    except StoreError:
        if not purge:
            raise
        entries = (view.history(prefix)[-1].memory,)
    return _with_forgotten(view, entries) if purge else entries


def _with_forgotten(view: ScopedView, entries: Sequence[MemoryEntry]) -> tuple[MemoryEntry, ...]:
    """Add all memories that these superseded, forgotten or not."""
    by_id = {entry.id: entry for entry in entries}
    pending = [name for entry in entries for name in entry.supersedes]
    while pending:
        name = pending.pop()
        with contextlib.suppress(StoreError):  # purged before
            predecessor = None if name in by_id else view.history(name)[-1].memory
            if predecessor is not None:
                by_id[predecessor.id] = predecessor
                pending += predecessor.supersedes
    return tuple(by_id.values())


def confirmation_token(entries: Sequence[MemoryEntry], purge: bool) -> str:
    """A token of 12 hex digits for these memories in their present state and the action (forget or purge)."""
    state = json.dumps([purge, sorted([entry.id, entry.updated, entry.text] for entry in entries)])
    return hashlib.blake2b(state.encode(), digest_size=6).hexdigest()


def check_confirmation(entries: tuple[MemoryEntry, ...], purge: bool, token: str | None) -> ForgetOutcome | None:
    """None when the token is right; the unconfirmed outcome when there is none. QueryError when it is another one."""
    if not entries:
        return ForgetOutcome(False, ())
    expected = confirmation_token(entries, purge)
    if token is None:
        return ForgetOutcome(False, entries, expected)
    if token != expected:
        raise QueryError(
            "this confirmation is for other memories, or they have changed since: nothing was forgotten",
            "ask again without it, look at what would go, and confirm that",
        )
    return None
