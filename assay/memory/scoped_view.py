"""The access boundary: memories of some scopes in one snapshot. All reads of the service go through it.

The store's own query applies the scopes. A memory of another scope is invisible: by id, by a prefix of an id, as a
neighbour, as a successor, and in counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter

import numpy as np

from assay.backend.contract import StoreSnapshot
from assay.errors import StoreError
from assay.ingest.date_bounds import DateRange
from assay.kb import KnowledgeBase
from assay.memory.entries import count_pieces, document_id, entry_from_chunks
from assay.memory.scopes import NOTHING, SOURCE, Scopes
from assay.memory.types import MemoryChange, MemoryEntry
from assay.store.contract import StoreState
from assay.types import Chunk, Rows
from assay.where import And, Compare, Filter, Missing, Or

_BATCH = 500
_LAST = "\U0010ffff"


class ScopedView:
    """The memories of some scopes in the newest snapshot."""

    def __init__(self, kb: KnowledgeBase, scopes: Scopes) -> None:
        whole = kb.snapshot()
        self.scopes = scopes
        self._store = kb.store
        self._kinds: Mapping[str, set[str]] = whole.kinds()
        self.snapshot: StoreSnapshot = whole.within(self.filter())
        """Statistics are of these scopes: what another one holds must not show in a score."""

    # -- filters

    def filter(self, *conditions: Filter) -> Filter:
        """The filter for the scopes and these conditions; a condition on a field that no chunk has matches nothing."""
        if "text" not in self._kinds.get("scope", ()) or NOTHING in conditions:
            return NOTHING
        return And((self.scopes.filter(), *conditions)) if conditions else self.scopes.filter()

    def conditions(
        self, category: str | None, tags: Sequence[str], at: float | None, range: DateRange | None = None
    ) -> tuple[Filter, ...]:
        """Conditions for a category, all of some tags, not expired at a moment (None: expired ones too), and created
        in a range."""
        conditions: list[Filter] = [] if category is None else [self._equals("category", category)]
        conditions += [self._equals("tags", tag) for tag in tags]
        if at is not None and "number" in self._kinds.get("expires", ()):
            conditions.append(Or((Missing("expires"), Compare("expires", ">", at))))
        return (*conditions, *(() if range is None else range.conditions()))

    def _equals(self, field: str, value: str) -> Filter:
        return Compare(field, "=", value) if "text" in self._kinds.get(field, ()) else NOTHING

    # -- memories

    def entries(self, *conditions: Filter) -> Iterator[MemoryEntry]:
        """Every memory that meets the conditions, newest first, then by id."""
        rows = self.snapshot.live_rows(self.filter(*conditions))
        created = self.snapshot.numbers("created", rows)
        order = np.argsort(-created, kind="stable")
        for _, group in groupby(self._chunks(rows[order]), key=attrgetter("created")):
            by_memory: dict[str, list[Chunk]] = {}
            for chunk in group:  # all chunks of a memory have its date
                by_memory.setdefault(chunk.doc_id, []).append(chunk)
            yield from (entry_from_chunks(by_memory[name]) for name in sorted(by_memory))

    def count(self) -> int:
        """How many chunks of memories these scopes hold; nearly every memory is one chunk."""
        return len(self.snapshot.live_rows(self.filter()))

    def _chunks(self, rows: Rows) -> Iterator[Chunk]:
        for start in range(0, len(rows), _BATCH):
            yield from self.snapshot.chunks(rows[start : start + _BATCH])

    def find(self, memory_id: str) -> MemoryEntry | None:
        """The memory with exactly this id; None if these scopes hold none."""
        return next(self.entries(Compare("doc_id", "=", document_id(memory_id))), None) if memory_id else None

    def get(self, prefix: str) -> MemoryEntry:
        """The memory with this id or unique prefix of an id; StoreError when these scopes hold none, or several."""
        wanted = document_id(prefix)
        matches = list(self.entries(Compare("doc_id", ">=", wanted), Compare("doc_id", "<", wanted + _LAST)))
        exact = [entry for entry in matches if entry.id == prefix]
        if exact or len(matches) == 1:
            return (exact or matches)[0]
        if not prefix or not matches:
            raise StoreError(
                f"no memory here has the id {prefix!r}", "ids are shown by: assay memory list, assay memory recall"
            )
        names = ", ".join(sorted(entry.id for entry in matches)[:5])
        raise StoreError(f"{len(matches)} memories begin with {prefix!r}", f"say more: {names} …")

    def entry_of(self, chunk: Chunk) -> MemoryEntry:
        """The memory that a chunk belongs to."""
        if count_pieces(chunk) == 1:
            return entry_from_chunks([chunk])
        rows = self.snapshot.live_rows(self.filter(Compare("doc_id", "=", chunk.doc_id)))
        return entry_from_chunks(self.snapshot.chunks(rows))

    def rows_of(self, entry: MemoryEntry) -> Rows:
        """The rows of a memory's chunks, in the order of its text."""
        rows = self.snapshot.live_rows(self.filter(Compare("doc_id", "=", document_id(entry.id))))
        starts = [chunk.meta["start"] for chunk in self.snapshot.chunks(rows)]
        return rows[np.argsort(starts, kind="stable")]

    def predecessors(self, entry: MemoryEntry) -> list[MemoryEntry]:
        """Every memory that this one superseded, directly or through others, nearest first."""
        matches: dict[str, MemoryEntry] = {}
        pending = list(entry.supersedes)
        while pending:
            name = pending.pop(0)
            before = None if name in matches or name == entry.id else self.find(name)
            if before is not None:
                matches[name] = before
                pending += before.supersedes
        return list(matches.values())

    def successor(self, entry: MemoryEntry, at: float | None) -> MemoryEntry | None:
        """The memory in force at a moment: this one, or the end of its chain of successors; None if that is gone."""
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

    def is_current(self, entry: MemoryEntry, at: float | None) -> bool:
        """Whether a memory existed and was not yet superseded at a moment (None: is not superseded now)."""
        if at is None or not entry.superseded_by:
            return not entry.superseded_by and (at is None or entry.created <= at)
        after = self.find(entry.superseded_by)
        return entry.created <= at and after is not None and after.created > at

    # -- the past

    def history(self, prefix: str) -> tuple[MemoryChange, ...]:
        """Every state of the memory with this id or prefix, deleted ones too, oldest first."""
        states = self._store.states(document_id(prefix)) if prefix else []
        matches = [state for state in states if self.scopes.holds(state.row.chunk)]
        names = sorted({state.row.chunk.doc_id for state in matches})
        if document_id(prefix) in names:
            names = [document_id(prefix)]
        if not prefix or not names:
            raise StoreError(f"no memory here has, or had, the id {prefix!r}", "ids are shown by: assay memory list")
        if len(names) > 1:
            listed = ", ".join(name.removeprefix(f"{SOURCE}/") for name in names[:5])
            raise StoreError(f"{len(names)} memories begin with {prefix!r}", f"say more: {listed} …")
        return _group_changes([state for state in matches if state.row.chunk.doc_id == names[0]])

    def count_hidden(self) -> int:
        """Count memories that were forgotten or rewritten and whose text is not purged."""
        return len({name for name, scope in self._store.deleted_documents(f"{SOURCE}/") if scope in self.scopes.names})


def _group_changes(states: Sequence[StoreState]) -> tuple[MemoryChange, ...]:
    """Group the rows of one memory by the version that wrote them: every write rewrites all of its chunks."""
    changes = []
    for version, group in groupby(states, key=lambda state: state.row.inserted_in):
        group_states = list(group)
        first = group_states[0]
        chunks = [state.row.chunk for state in group_states]
        changes.append(
            MemoryChange(entry_from_chunks(chunks), version, first.row.deleted_in, first.insert_note, first.delete_note)
        )
    return tuple(changes)
