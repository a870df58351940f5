"""The memory service: store, recall, forget, and say why; over one knowledge base, for many agents and processes.

Every method that reads takes `scopes`, the scopes the caller may see: one name or several, exactly as they were stored
under. None, or an empty list, is an error: nobody sees everything by saying nothing. The boundary is in `window.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from assay import kb as knowledge
from assay.engine.pipeline import Pipeline
from assay.errors import QueryError
from assay.kb import KnowledgeBase
from assay.memory.counts import counted
from assay.memory.entries import clean, label, labels, made, moment, share
from assay.memory.forget import named, token_for, unconfirmed, with_predecessors
from assay.memory.purge import purge as purged
from assay.memory.recall import RecallQuery, explain, recall
from assay.memory.remember import remember
from assay.memory.scopes import Scopes as Granted
from assay.memory.scopes import checked
from assay.memory.transfer import Import, exported
from assay.memory.types import (
    Confirm,
    ForgetOutcome,
    ImportOutcome,
    MemoryChange,
    MemoryEntry,
    MemoryExplanation,
    MemoryStats,
    OnDuplicate,
    RecallAnswer,
    StoreOutcome,
)
from assay.memory.window import Window
from assay.memory.writing import put, redrafted, remove, turn
from assay.text.noise import noise
from assay.util.closing import Closing

Scopes = str | Iterable[str]
Moment = str | float | None
"""A date as text (`2026-03-01`, ISO 8601) or seconds since 1970 UTC; None is now."""


def open(
    path: str | Path,
    *,
    embedder: str = "auto",
    create: bool = True,
    clock: Callable[[], float] = time.time,
    pipeline: str | Pipeline = "memory",
) -> MemoryService:
    """Open the memory in a folder, making it when it is not there yet.

    It is an ordinary knowledge base, so documents may live beside memories. No model is loaded before one is needed.
    `clock` is what a date means that is not given. `pipeline` recalls: a preset, a TOML file, or a pipeline, for
    example one made from 002's own configuration (`assay.memory.config.configured`).
    """
    return MemoryService(knowledge.open(path, embedder=embedder, create=create), clock, pipeline)


class MemoryService(Closing):
    """Remember, recall, forget. Safe to share between threads; processes may share the folder. Close it in the end."""

    def __init__(
        self, kb: KnowledgeBase, clock: Callable[[], float] = time.time, pipeline: str | Pipeline = "memory"
    ) -> None:
        self.kb = kb
        self.clock = clock
        self.pipeline = pipeline

    def close(self) -> None:
        self.kb.close()

    # -- writing

    def store(
        self,
        text: str,
        *,
        scope: str = "global",
        category: str = "fact",
        importance: float = 0.7,
        tags: Iterable[str] = (),
        created: Moment = None,
        expires: Moment = None,
        supersedes: str | Iterable[str] | None = None,
        on_duplicate: OnDuplicate = "skip",
    ) -> StoreOutcome:
        """Remember a text; durable when the call returns.

        Noise is refused with its category. A text that a current memory of the same scope already says (cosine and
        token overlap together) is skipped, merged into it (the longer text, all tags, the higher importance, the
        later expiry), stored in its place (`supersede`) or stored beside it (`force`). `supersedes` names memories
        of the same scope, by id or its beginning, that this one takes the place of. `expires=None` is never.
        """
        now = self._now()
        entry = made(
            text,
            scope,
            category,
            importance,
            tags,
            moment(created, now),
            None if expires is None else moment(expires, now),
            now,
        )
        old = () if supersedes is None else (supersedes,) if isinstance(supersedes, str) else tuple(supersedes)
        return remember(self.kb, entry, old, on_duplicate, now)

    def update(
        self,
        id: str,
        *,
        scopes: Scopes,
        text: str | None = None,
        category: str | None = None,
        importance: float | None = None,
        tags: Iterable[str] | None = None,
        expires: Moment = None,
        never_expires: bool = False,
    ) -> MemoryEntry:
        """Change what is given of a memory, named by its id or a unique beginning; the memory as it is now.

        It keeps its id, its scope and its creation date; the state before stays in its history.
        """
        if never_expires and expires is not None:
            raise QueryError("a memory cannot expire and never expire", "give expires or never_expires, one of them")
        now = self._now()
        with turn(self.kb):
            window = self._window(scopes)
            before = window.get(id)
            after = replace(
                before,
                text=before.text if text is None else _worth_it(clean(text)),
                category=before.category if category is None else label("category", category),
                importance=before.importance if importance is None else share(importance),
                tags=before.tags if tags is None else labels(tags),
                expires=None if never_expires else before.expires if expires is None else moment(expires, now),
            )
            if after == before:
                return before
            after = replace(after, updated=now)
            put(self.kb, [redrafted(self.kb, window, before, after)], "updated", now)
        return after

    def forget(
        self,
        id: str | None = None,
        *,
        scopes: Scopes,
        query: str | None = None,
        confirm: Confirm = None,
        k: int = 5,
        purge: bool = False,
        backups: Sequence[str | Path] = (),
    ) -> ForgetOutcome:
        """Hide memories at once: one by its id or a unique beginning, or those a query recalls, once confirmed.

        By id it happens without asking. By `query` nothing happens before `confirm`: without it the result has
        `done=False`, the memories (at most `k`) and a token; with that token, or a function that says yes, they go.
        What a forgotten memory had superseded goes with it. `purge` also removes the text from every version, index,
        cache and known backup (and those in `backups`), and the result says from where, and what it cannot reach.
        """
        if (id is None) == (query is None):
            raise QueryError(
                "forget takes an id or a query, one of them",
                "name the memory by its id, or what to look for by a query",
            )
        if backups and not purge:
            raise QueryError("backups are touched by a purge only", "purge as well, or name no backups")
        now = self._now()
        if callable(confirm):  # asked before it is our turn: a person may think for long
            shown = self._going(self._window(scopes), id, query, k, purge)
            if not shown or not confirm(shown):
                return ForgetOutcome(False, shown, token_for(shown, purge))
            confirm = token_for(shown, purge)
        with turn(self.kb):
            entries = self._going(self._window(scopes), id, query, k, purge)
            if id is None or confirm is not None:
                waiting = unconfirmed(entries, purge, confirm)
                if waiting is not None:
                    return waiting
            remove(self.kb, entries, now)
            if not purge:
                return ForgetOutcome(True, entries)
            done = purged(self.kb, [entry.id for entry in entries], [Path(path) for path in backups], now)
        return ForgetOutcome(True, entries, purged=True, erased=tuple(done.erased), unreached=tuple(done.unreached))

    def _going(self, window: Window, id: str | None, query: str | None, k: int, purge: bool) -> tuple[MemoryEntry, ...]:
        """What a `forget` would take."""
        if id is not None:
            return named(window, id, purge)
        asked = RecallQuery(str(query), self._now(), k, None, (), self._pipeline(None))
        found = recall(self.kb, window, asked, adaptive=False)
        return with_predecessors(window, [hit.entry for hit in found.hits])

    # -- reading

    def recall(
        self,
        query: str,
        *,
        scopes: Scopes,
        k: int = 5,
        at: Moment = None,
        category: str | None = None,
        tags: Iterable[str] = (),
        pipeline: str | Pipeline | None = None,
        adaptive: bool = True,
    ) -> RecallAnswer:
        """The memories that answer a query, best first, at most k.

        `at` is the clock: what was created later, had expired by then or was superseded by then is not recalled; a
        superseded memory that is found is served as its successor, with a note. `tags` must all be there. `pipeline`
        is another than this memory's own. With `adaptive`, a message that needs no memory ("thanks!") is not looked
        up, and `skipped` says why.
        """
        asked = RecallQuery(query, moment(at, self._now()), k, category, labels(tags), self._pipeline(pipeline))
        return recall(self.kb, self._window(scopes), asked, adaptive=adaptive)

    def explain(
        self,
        query: str,
        id: str,
        *,
        scopes: Scopes,
        k: int = 5,
        at: Moment = None,
        pipeline: str | Pipeline | None = None,
    ) -> MemoryExplanation:
        """Why a memory is at its place for a query, or why it is not recalled."""
        asked = RecallQuery(query, moment(at, self._now()), k, None, (), self._pipeline(pipeline))
        window = self._window(scopes)
        return explain(self.kb, window, asked, window.get(id))

    def get(self, id: str, *, scopes: Scopes) -> MemoryEntry:
        """One memory by its id or a unique beginning; StoreError where these scopes hold none."""
        return self._window(scopes).get(id)

    def list(
        self,
        *,
        scopes: Scopes,
        category: str | None = None,
        tags: Iterable[str] = (),
        at: Moment = None,
        limit: int | None = 50,
        offset: int = 0,
        everything: bool = False,
    ) -> tuple[MemoryEntry, ...]:
        """Memories, newest first; `everything` also shows the superseded and the expired. With `at` those that were
        current then: what was created later is left out, what was superseded later is there."""
        window = self._window(scopes)
        now = moment(at, self._now())
        found = window.entries(*window.asked(category, labels(tags), None if everything else now))
        shown = (entry for entry in found if everything or window.stands(entry, None if at is None else now))
        return tuple(islice(shown, offset, None if limit is None else offset + limit))

    def stats(self, scopes: Scopes, *, at: Moment = None) -> MemoryStats:
        """How much is remembered in these scopes; with `at`, how much was then."""
        return counted(self._window(scopes), moment(at, self._now()), past=at is not None)

    def history(self, id: str, *, scopes: Scopes) -> tuple[MemoryChange, ...]:
        """Every state a memory was in, oldest first, with what changed it; a forgotten one too, until it is purged."""
        return self._window(scopes).history(id)

    # -- moving

    def export(self, scopes: Scopes) -> Iterator[str]:
        """Every memory of these scopes as a line of JSON, oldest first, the superseded and the expired included."""
        return exported(self._window(scopes))

    def import_(
        self,
        source: str | Path | Iterable[str],
        *,
        scopes: Scopes,
        format: str = "jsonl",
        scope: str | None = None,
        on_duplicate: OnDuplicate = "skip",
    ) -> ImportOutcome:
        """Bring memories in from a file, or from lines of JSON; formats: `assay.memory.importers.IMPORTERS`.

        `scope` puts all of them into one scope; otherwise each keeps its own. A record outside `scopes` is a problem
        on the record, and is not taken.
        """
        given = Path(source) if isinstance(source, str | Path) else source
        target = None if scope is None else checked(scope)
        return Import(self.kb, Granted.of(scopes), target, on_duplicate, self._now()).run(given, format)

    # --

    def _pipeline(self, asked: str | Pipeline | None) -> Pipeline:
        return self.kb.pipeline(self.pipeline if asked is None else asked)

    def _now(self) -> float:
        return moment(None, self.clock())

    def _window(self, scopes: Scopes) -> Window:
        return Window(self.kb, Granted.of(scopes))


def _worth_it(text: str) -> str:
    """A text that is no noise."""
    verdict = noise(text)
    if verdict.noisy:
        raise QueryError(f"the new text is noise ({verdict.category}): {verdict.reason}", "say something to remember")
    return text
