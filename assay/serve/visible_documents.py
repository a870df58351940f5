"""Which documents a caller sees: no memories, and of documents with a scope only those of the caller's scopes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from assay.engine.answer import Answer
from assay.engine.explanation import Explanation
from assay.errors import StoreError
from assay.kb import KnowledgeBase
from assay.memory.scopes import MEMORIES, NO_MEMORIES
from assay.where import And, Compare, Filter, Missing, Or

AllowedScopes = tuple[str, ...] | None
"""The names of scopes that a caller may see; None is every scope."""
_VERSIONS = 8
"""Versions of the store whose facts are cached."""


@dataclass(frozen=True, slots=True)
class _VersionFacts:
    """What decides whether a filter is needed at all: most stores hold neither memories nor scopes."""

    memories: bool
    scopes: bool


class VisibleDocuments:
    """The documents of a store that a caller sees. Safe to share between threads."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._facts: dict[int, _VersionFacts] = {}
        self._lock = threading.Lock()

    def search(self, text: str, scopes: AllowedScopes, where: Filter | None = None, **options: Any) -> Answer:
        """`KnowledgeBase.search` within what a caller may see."""
        return self._same_version(
            scopes, where, options.get("snapshot"), lambda allowed: self._kb.search(text, where=allowed, **options)
        )

    def explain(
        self, text: str, chunk_id: str, scopes: AllowedScopes, where: Filter | None = None, **options: Any
    ) -> Explanation:
        """`KnowledgeBase.explain`; a chunk that the caller may not see is not there."""
        own = self.condition(scopes, options.get("snapshot"))
        view = self._kb.snapshot(options.get("snapshot"))
        known = self._kb.full_id(chunk_id, view, missing_ok=True)
        rows = view.live_rows(Compare("id", "=", known) if own is None else And((own, Compare("id", "=", known))))
        if own is not None and not len(rows):
            raise StoreError(f"no document here has a chunk {chunk_id[:60]!r}", "ids are in every result of a search")
        allowed = self._restrict(own, where)
        return self._kb.explain(text, chunk_id, where=allowed, **options)

    def chunk_ids(self, document: str, scopes: AllowedScopes, snapshot: str | None = None) -> list[str]:
        """The chunks of a document that the caller sees, by id."""
        view = self._kb.snapshot(snapshot)
        named = Compare("doc_id", "=", document)
        allowed = self._restrict(self.condition(scopes, snapshot), named)
        return [chunk.id for chunk in view.chunks(view.live_rows(allowed))]

    def condition(self, scopes: AllowedScopes, snapshot: str | None = None) -> Filter | None:
        """The filter for documents that a caller with these scopes sees; None where it sees all of them."""
        return self._condition(scopes, self._version(snapshot))

    def _same_version(
        self,
        scopes: AllowedScopes,
        where: Filter | None,
        snapshot: str | None,
        search: Callable[[Filter | None], Answer],
    ) -> Answer:
        """Search again if the store changed between the choice of the filter and the search: the first memory of a
        store could otherwise appear in it."""
        while True:
            version = self._version(snapshot)
            answer = search(self._restrict(self._condition(scopes, version), where))
            if answer.version in (None, version):
                return answer

    def _condition(self, scopes: AllowedScopes, version: int) -> Filter | None:
        facts = self._read_facts(version)
        parts: list[Filter] = [NO_MEMORIES] if facts.memories else []
        if scopes is not None and facts.scopes:
            parts.append(Or((Missing("scope"), *(Compare("scope", "=", name) for name in scopes))))
        return None if not parts else parts[0] if len(parts) == 1 else And(tuple(parts))

    @staticmethod
    def _restrict(own: Filter | None, where: Filter | None) -> Filter | None:
        return where if own is None else own if where is None else And((own, where))

    def _version(self, snapshot: str | None) -> int:
        store = self._kb.store
        return store.version() if snapshot is None else store.resolve(snapshot)

    def _read_facts(self, version: int) -> _VersionFacts:
        with self._lock:
            known = self._facts.get(version)
        if known is None:
            view = self._kb.snapshot(f"v{version}")
            known = _VersionFacts(len(view.live_rows(MEMORIES)) > 0, "scope" in view.kinds())
            with self._lock:
                self._facts[version] = known
                while len(self._facts) > _VERSIONS:
                    self._facts.pop(next(iter(self._facts)))
        return known
