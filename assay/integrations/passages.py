"""What the retrievers of all frameworks share: a store on this machine or a server, and passages as plain values."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.client import Client
    from assay.kb import KnowledgeBase

OPTIONS = ("pipeline", "where", "at", "since", "until", "scope", "snapshot", "sort")
"""Options of a search that the frameworks pass on."""


def check_options(options: Iterable[str], count: str) -> None:
    """ConfigError for the first that is no option of a search; `count` is what the framework calls the number of
    results."""
    unknown = sorted(set(options) - set(OPTIONS))
    if unknown:
        raise ConfigError(f"a search has no option {unknown[0]!r}", f"known: {count}, {', '.join(OPTIONS)}")


@dataclass(frozen=True, slots=True)
class RetrievedPassage:
    """One result. `metadata` has the chunk's own, and `doc_id`, `title`, `section`, `rank`."""

    id: str
    text: str
    score: float
    metadata: dict[str, Any] = field(hash=False)


class PassageSearch:
    """Searches a store or a server, opened when it is first needed. Safe to share between threads."""

    def __init__(
        self, store: str | None = None, url: str | None = None, key: str | None = None, kb: KnowledgeBase | None = None
    ) -> None:
        if sum(given is not None for given in (store, url, kb)) != 1:
            raise ConfigError("a retriever searches a store or a server", "give store=ADDRESS, kb=… or url=ADDRESS")
        self._store, self._url, self._key = store, url, key
        self._kb = kb
        self._client: Client | None = None
        self._lock = threading.Lock()

    def search(self, text: str, k: int, **options: Any) -> list[RetrievedPassage]:
        """The best k passages for a text."""
        check_options(options, "k")
        given = {name: value for name, value in options.items() if value is not None}
        hits: Iterable[Any]
        if self._url is not None:
            hits = self._open_client().search(text, k, **given)
            return [_passage(hit.rank, hit.score, hit, hit.title, hit.section, hit.meta) for hit in hits]
        found = self._open_store().search(text, k, **given)
        return [_passage(h.rank, h.score, h.chunk, h.chunk.title, h.chunk.section, h.chunk.meta) for h in found]

    async def asearch(self, text: str, k: int, **options: Any) -> list[RetrievedPassage]:
        """The same without blocking the event loop."""
        return await asyncio.to_thread(self.search, text, k, **options)

    def _open_client(self) -> Client:
        from assay.client import Client

        with self._lock:
            if self._client is None:
                self._client = Client(str(self._url), self._key)
                weakref.finalize(self, self._client.close)  # frameworks never close their components
            return self._client

    def _open_store(self) -> KnowledgeBase:
        from assay import kb

        with self._lock:
            if self._kb is None:
                self._kb = kb.open(str(self._store), create=False)
                weakref.finalize(self, self._kb.close)
            return self._kb


def _passage(rank: int, score: float, chunk: Any, title: str, section: str, meta: Any) -> RetrievedPassage:
    own = {"doc_id": chunk.doc_id, "title": title, "section": section, "rank": rank, "score": score}
    return RetrievedPassage(chunk.id, chunk.text, score, {**meta, **own})
