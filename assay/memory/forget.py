"""Forgetting: what goes, and was that meant?"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Sequence

from assay.errors import QueryError, StoreError
from assay.memory.types import ForgetOutcome, MemoryEntry
from assay.memory.window import Window


def with_predecessors(window: Window, entries: Sequence[MemoryEntry]) -> tuple[MemoryEntry, ...]:
    """Memories, and all that they had superseded: those are only ever served as them."""
    found = {entry.id: entry for entry in entries}
    for entry in entries:
        found |= {before.id: before for before in window.predecessors(entry) if before.id not in found}
    return tuple(found.values())


def named(window: Window, beginning: str, purge: bool) -> tuple[MemoryEntry, ...]:
    """The memory of an id with what it superseded; a purge also reaches those that were forgotten before."""
    try:
        found = with_predecessors(window, [window.get(beginning)])
    except StoreError:
        if not purge:
            raise
        found = (window.history(beginning)[-1].entry,)
    return _with_buried(window, found) if purge else found


def _with_buried(window: Window, entries: Sequence[MemoryEntry]) -> tuple[MemoryEntry, ...]:
    """Memories, and all that they had superseded, forgotten or not."""
    found = {entry.id: entry for entry in entries}
    waiting = [name for entry in entries for name in entry.supersedes]
    while waiting:
        name = waiting.pop()
        with contextlib.suppress(StoreError):  # purged before
            before = None if name in found else window.history(name)[-1].entry
            if before is not None:
                found[before.id] = before
                waiting += before.supersedes
    return tuple(found.values())


def token_for(entries: Sequence[MemoryEntry], purge: bool) -> str:
    """Names exactly these memories in exactly this state, and what is to happen to them: 12 hex digits."""
    said = json.dumps([purge, sorted([entry.id, entry.updated, entry.text] for entry in entries)])
    return hashlib.blake2b(said.encode(), digest_size=6).hexdigest()


def unconfirmed(entries: tuple[MemoryEntry, ...], purge: bool, token: str | None) -> ForgetOutcome | None:
    """None when the confirmation is good; else what to return. QueryError when it is for something else."""
    if not entries:
        return ForgetOutcome(False, ())
    wanted = token_for(entries, purge)
    if token is None:
        return ForgetOutcome(False, entries, wanted)
    if token != wanted:
        raise QueryError(
            "this confirmation is for other memories, or they have changed since: nothing was forgotten",
            "ask again without it, look at what would go, and confirm that",
        )
    return None
