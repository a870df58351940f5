"""The boundary: memories of some scopes, as of one snapshot. Nothing else in the service reads a memory.

What a window gives has passed `Scopes` inside the store's own query; a memory of another scope is, for all that can be
seen from here, not there: by id, by the beginning of an id, as a neighbour, as a successor, or in a count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from operator import attrgetter

import numpy as np

from assay.backend.contract import StoreSnapshot
from assay.errors import StoreError
from assay.kb import KnowledgeBase
from assay.memory.entries import document_id, entry_of, pieces
from assay.memory.scopes import NOTHING, SOURCE, Scopes
from assay.memory.types import MemoryChange, MemoryEntry
from assay.store.contract import StoreState
from assay.types import Chunk, Rows
from assay.where import And, Compare, Filter, Missing, Or

_BATCH = 500
_LAST = "\U0010ffff"


class Window:
    """What the given scopes hold in the newest snapshot."""

    def __init__(self, kb: KnowledgeBase, scopes: Scopes) -> None:
        self.view: StoreSnapshot = kb.snapshot()
        self.scopes = scopes
        self._store = kb.store

    @cached_property
    def _kinds(self) -> Mapping[str, set[str]]:
        return self.view.kinds()

    # -- filters

    def filter(self, *conditions: Filter) -> Filter:
        """The scopes, and these conditions; a condition on a field that no chunk has keeps nothing."""
        if "text" not in self._kinds.get("scope", ()) or NOTHING in conditions:
            return NOTHING
        return And((self.scopes.filter(), *conditions)) if conditions else self.scopes.filter()

    def asked(self, category: str | None, tags: Sequence[str], at: float | None) -> tuple[Filter, ...]:
        """A category, all of some tags, and not expired at a moment (None: never mind)."""
        found: list[Filter] = [] if category is None else [self._says("category", category)]
        found += [self._says("tags", tag) for tag in tags]
        if at is not None and "number" in self._kinds.get("expires", ()):
            found.append(Or((Missing("expires"), Compare("expires", ">", at))))
        return tuple(found)

    def _says(self, field: str, value: str) -> Filter:
        return Compare(field, "=", value) if "text" in self._kinds.get(field, ()) else NOTHING

    # -- memories

    def entries(self, *conditions: Filter) -> Iterator[MemoryEntry]:
        """Every memory that meets the conditions, newest first, then by id."""
        rows = self.view.live_rows(self.filter(*conditions))
        created = self.view.numbers("created", rows)
        order = np.argsort(-created, kind="stable")
        for _, same in groupby(self._chunks(rows[order]), key=attrgetter("created")):
            by_memory: dict[str, list[Chunk]] = {}
            for chunk in same:  # all chunks of a memory have its date
                by_memory.setdefault(chunk.doc_id, []).append(chunk)
            yield from (entry_of(by_memory[name]) for name in sorted(by_memory))

    def _chunks(self, rows: Rows) -> Iterator[Chunk]:
        for start in range(0, len(rows), _BATCH):
            yield from self.view.chunks(rows[start : start + _BATCH])

    def find(self, memory_id: str) -> MemoryEntry | None:
        """The memory of exactly this id, if these scopes hold it."""
        return next(self.entries(Compare("doc_id", "=", document_id(memory_id))), None) if memory_id else None

    def get(self, beginning: str) -> MemoryEntry:
        """The memory whose id this is or begins with; StoreError when these scopes hold none, or several."""
        wanted = document_id(beginning)
        found = list(self.entries(Compare("doc_id", ">=", wanted), Compare("doc_id", "<", wanted + _LAST)))
        exact = [entry for entry in found if entry.id == beginning]
        if exact or len(found) == 1:
            return (exact or found)[0]
        if not beginning or not found:
            raise StoreError(
                f"no memory here has the id {beginning!r}", "ids are shown by: assay memory list, assay memory recall"
            )
        names = ", ".join(sorted(entry.id for entry in found)[:5])
        raise StoreError(f"{len(found)} memories begin with {beginning!r}", f"say more: {names} …")

    def whole(self, chunk: Chunk) -> MemoryEntry:
        """The memory a found chunk belongs to."""
        if pieces(chunk) == 1:
            return entry_of([chunk])
        rows = self.view.live_rows(self.filter(Compare("doc_id", "=", chunk.doc_id)))
        return entry_of(self.view.chunks(rows))

    def rows_of(self, entry: MemoryEntry) -> Rows:
        """The rows of a memory's chunks, in the order of its text."""
        rows = self.view.live_rows(self.filter(Compare("doc_id", "=", document_id(entry.id))))
        starts = [chunk.meta["start"] for chunk in self.view.chunks(rows)]
        return rows[np.argsort(starts, kind="stable")]

    def predecessors(self, entry: MemoryEntry) -> list[MemoryEntry]:
        """Every memory that this one superseded, directly or through others, nearest first."""
        found: dict[str, MemoryEntry] = {}
        waiting = list(entry.supersedes)
        while waiting:
            name = waiting.pop(0)
            before = None if name in found or name == entry.id else self.find(name)
            if before is not None:
                found[name] = before
                waiting += before.supersedes
        return list(found.values())

    def successor(self, entry: MemoryEntry, at: float | None) -> MemoryEntry | None:
        """What stands in a memory's place at a moment: itself, or the end of its chain; None when that is gone."""
        seen = {entry.id}
        while entry.superseded_by and entry.superseded_by not in seen:
            seen.add(entry.superseded_by)
            after = self.find(entry.superseded_by)
            if after is None:
                return None
            if at is not None and after.created > at:
                return entry
            entry = after
        return entry

    def stands(self, entry: MemoryEntry, at: float | None) -> bool:
        """Was a memory there at a moment, and nothing in its place yet? None: has nothing taken its place since?"""
        if at is None or not entry.superseded_by:
            return not entry.superseded_by and (at is None or entry.created <= at)
        after = self.find(entry.superseded_by)
        return entry.created <= at and after is not None and after.created > at

    # -- the past

    def history(self, beginning: str) -> tuple[MemoryChange, ...]:
        """Every state of the memory whose id begins so, dead ones too, oldest first."""
        every = self._store.states(document_id(beginning)) if beginning else []
        found = [state for state in every if self.scopes.holds(state.row.chunk)]
        names = sorted({state.row.chunk.doc_id for state in found})
        if document_id(beginning) in names:
            names = [document_id(beginning)]
        if not beginning or not names:
            raise StoreError(f"no memory here has, or had, the id {beginning!r}", "ids are shown by: assay memory list")
        if len(names) > 1:
            listed = ", ".join(name.removeprefix(f"{SOURCE}/") for name in names[:5])
            raise StoreError(f"{len(names)} memories begin with {beginning!r}", f"say more: {listed} …")
        return _changes([state for state in found if state.row.chunk.doc_id == names[0]])

    def hidden(self) -> int:
        """How many memories were forgotten, or rewritten, and still have text here that no purge removed."""
        return len({name for name, scope in self._store.buried(f"{SOURCE}/") if scope in self.scopes.names})


def _changes(states: Sequence[StoreState]) -> tuple[MemoryChange, ...]:
    """Rows of one memory, put together by the version that wrote them: every write rewrites all of its chunks."""
    found = []
    for born, same in groupby(states, key=lambda state: state.row.born):
        written = list(same)
        first = written[0]
        chunks = [state.row.chunk for state in written]
        found.append(MemoryChange(entry_of(chunks), born, first.row.died, first.began, first.ended))
    return tuple(found)
