"""A batch of memories under the write lock: views of the scopes, and new memories that are written together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from assay.errors import QueryError
from assay.kb import KnowledgeBase
from assay.memory.compared_text import TextReader
from assay.memory.duplicates import find_near
from assay.memory.pending import PendingMemories
from assay.memory.safety import StoreLimits
from assay.memory.scope_neighbours import ScopeNeighbours
from assay.memory.scoped_view import ScopedView
from assay.memory.scopes import Scopes
from assay.memory.types import NearDuplicate
from assay.memory.writer import Draft, is_taken, write_drafts


class StoreBatch:
    """New memories are written at the next `flush`, together; until then `pending` has them by scope, and every view is
    of the state before them."""

    def __init__(
        self, kb: KnowledgeBase, now: float, limits: StoreLimits, reader: TextReader, drafts: Sequence[Draft]
    ) -> None:
        self.kb = kb
        self.now = now
        self.limits = limits
        self.reader = reader
        self.pending: dict[str, PendingMemories] = defaultdict(PendingMemories)
        self._drafts = drafts
        self._places = {id(draft): place for place, draft in enumerate(drafts)}
        self._views: dict[str, ScopedView] = {}
        self._neighbours: dict[str, ScopeNeighbours] = {}
        self._ids: set[str] = set()

    # -- reading

    def view(self, scope: str) -> ScopedView:
        if scope not in self._views:
            self._views[scope] = ScopedView(self.kb, Scopes((scope,)))
        return self._views[scope]

    def find_near(self, draft: Draft) -> tuple[NearDuplicate, ...]:
        """The memories near a draft in its scope, those that are pending included."""
        scope, text, vector = draft.memory.scope, draft.memory.text, draft.vectors[0]
        if scope not in self._neighbours:  # one table for this draft and all later ones of the scope
            later = [one for one in self._drafts[self._places[id(draft)] :] if one.memory.scope == scope]
            self._neighbours[scope] = ScopeNeighbours(self.view(scope), self.now, later)
        rows = self._neighbours[scope].rows(draft)
        return find_near(self.view(scope), text, vector, self.now, self.reader, self.pending[scope], rows)

    def is_pending(self, memory_id: str) -> bool:
        return memory_id in self._ids

    def is_taken(self, memory_id: str) -> bool:
        return memory_id in self._ids or is_taken(self.kb, memory_id)

    def check_room(self, scope: str) -> None:
        """QueryError when the scope is full."""
        most = self.limits.memories
        if most is not None and self.view(scope).count() + self.pending[scope].chunks >= most:
            raise QueryError(
                f"the scope {scope!r} holds {most:,} memories, which is its limit; this one was not stored",
                "forget some of them: assay memory list, assay memory forget",
            )

    # -- writing

    def add(self, draft: Draft) -> None:
        """Accept a new memory."""
        scope = draft.memory.scope
        self.pending[scope].add(draft, self.reader.read(draft.memory.text).terms)
        self._ids.add(draft.memory.id)

    def rewrite(self, drafts: Sequence[Draft], what: str) -> None:
        """Write memories, known ones among them, at once."""
        self.flush()
        write_drafts(self.kb, drafts, what, self.now)
        self._forget_views()

    def flush(self) -> None:
        """Write what is pending, in one transaction."""
        drafts = [draft for pending in self.pending.values() for draft in pending.drafts]
        if drafts:
            write_drafts(self.kb, drafts, "stored", self.now)
            self.pending.clear()
            self._ids.clear()
            self._forget_views()

    def _forget_views(self) -> None:
        self._views.clear()
        self._neighbours.clear()
