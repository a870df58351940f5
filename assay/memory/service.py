"""The memory service: store, recall, forget and explain, over one knowledge base, for many agents and processes.

Every method that reads takes `scope`, the scopes the caller may see: one name or several, exactly as stored. None, or
an empty list, is an error: there is no default that sees everything. `scoped_view.py` enforces it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from assay import kb as knowledge
from assay.engine.pipeline import Pipeline
from assay.errors import AssayError, MissingStore, QueryError, StoreError
from assay.ingest.date_bounds import resolve_range
from assay.kb import KnowledgeBase
from assay.memory import PRESET
from assay.memory.entries import check_tags, resolve_moment
from assay.memory.forget import check_confirmation, confirmation_token, find_targets, with_predecessors
from assay.memory.purge import purge as purged
from assay.memory.recall import RecallQuery, explain, recall
from assay.memory.remember import StoreSession
from assay.memory.requests import change_entry, make_request, read_requests
from assay.memory.safety import (
    RateCounter,
    SecretPolicy,
    StoreLimits,
    check_secret_policy,
)
from assay.memory.scoped_view import ScopedView
from assay.memory.scopes import Scopes, check_scope
from assay.memory.statistics import count_memories
from assay.memory.transfer import ImportRun, export_lines
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
from assay.memory.writer import redraft_entry, remove_entries, write_drafts, write_lock
from assay.types import Progress
from assay.util.closeable import Closeable

ScopeNames = str | Iterable[str]
Moment = str | float | None
"""A date as text (`2026-03-01`, ISO 8601) or seconds since 1970 UTC; None is now."""


def open(
    path: str | Path,
    *,
    embedder: str = "auto",
    create: bool = True,
    clock: Callable[[], float] = time.time,
    pipeline: str | Pipeline = PRESET,
    secrets: SecretPolicy = "refuse",
    limits: StoreLimits | None = None,
) -> MemoryService:
    """Open the memory in a folder, making it when it is not there yet.

    It is an ordinary knowledge base, so documents may live beside memories. No model is loaded before one is needed.
    `clock` is what a date means that is not given. `pipeline` recalls: a preset, a TOML file, or a pipeline, for
    example one made from a configuration in the memory pipeline's keys (`assay.memory.config.load_pipeline`).
    `secrets` says what happens to texts with keys, tokens and passwords; `limits` are those of every scope.
    """
    policy = check_secret_policy(secrets)
    try:
        kb = knowledge.open(path, embedder=embedder, create=create)
    except MissingStore as error:
        example = f'make one: assay memory store "Ada lives in Lisbon." --store {error.place}'
        raise StoreError(error.message, example) from None
    return MemoryService(kb, clock, pipeline, policy, limits)


class MemoryService(Closeable):
    """Remember, recall, forget. Safe to share between threads; processes may share the folder. Close it in the end."""

    def __init__(
        self,
        kb: KnowledgeBase,
        clock: Callable[[], float] = time.time,
        pipeline: str | Pipeline = PRESET,
        secrets: SecretPolicy = "refuse",
        limits: StoreLimits | None = None,
    ) -> None:
        self.kb = kb
        self.clock = clock
        self.pipeline = pipeline
        self.secrets = secrets
        self.limits = limits or StoreLimits()
        self._rate = RateCounter(self.limits)

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

        Noise is refused with its category, and so is a text with a key, token or password (`secrets` of `open`). A
        text that a current memory of the same scope already says (cosine and token overlap together) is skipped,
        merged into it (the longer text, all tags, the higher importance, the later expiry), stored in its place
        (`supersede`) or stored beside it (`force`). `supersedes` names memories of the same scope, by id or its
        beginning, that this one takes the place of. `expires=None` is never.
        """
        now = self._now()
        given = {"category": category, "importance": importance, "tags": tags, "created": created, "expires": expires}
        request = make_request(
            {"text": text, "scope": scope, **given, "supersedes": supersedes, "on_duplicate": on_duplicate}, now
        )
        self._rate.count({request.entry.scope: 1}, now)
        return self._session(now).store(request)

    def store_many(
        self, memories: Iterable[str | Mapping[str, Any]], *, progress: Progress = lambda *_: None, **common: Any
    ) -> tuple[StoreOutcome, ...]:
        """Remember many texts, with the outcomes of storing them one after the other, many times faster.

        Each is a text, or a mapping with the arguments of `store` (`text`, `scope`, `tags`, …); `common` are arguments
        for those that do not name them. All of them are checked before the first is stored. They are then embedded and
        written in batches; what an interrupted call has written stays, and a second one skips it. Noise, secrets and
        what finds its scope full are `refused`, each with the reason.
        """
        now = self._now()
        requests = read_requests(memories, common, now)
        self._rate.count(Counter(request.entry.scope for request in requests), now)
        outcomes: list[StoreOutcome] = []
        for batch in self._session(now).store_batches(requests):
            outcomes += [StoreOutcome("", "refused", o.message) if isinstance(o, AssayError) else o for o in batch]
            progress("storing memories", len(outcomes), len(requests))
        return tuple(outcomes)

    def update(
        self,
        id: str,
        *,
        scope: ScopeNames,
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
        given = {"text": text, "category": category, "importance": importance, "tags": tags, "expires": expires}
        changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        if never_expires:
            changes["expires"] = None
        now = self._now()
        with write_lock(self.kb):
            view = self._view(scope)
            before = view.get(id)
            after = change_entry(before, changes, self.secrets, self.limits, now)
            if after == before:
                return before
            after = replace(after, updated=now)
            write_drafts(self.kb, [redraft_entry(self.kb, view, before, after)], "updated", now)
        return after

    def forget(
        self,
        id: str | None = None,
        *,
        scope: ScopeNames,
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
        if callable(confirm):  # asked before the lock is taken: a person may think for long
            shown = self._find_targets(self._view(scope), id, query, k, purge)
            if not shown or not confirm(shown):
                return ForgetOutcome(False, shown, confirmation_token(shown, purge))
            confirm = confirmation_token(shown, purge)
        with write_lock(self.kb):
            entries = self._find_targets(self._view(scope), id, query, k, purge)
            if id is None or confirm is not None:
                unconfirmed = check_confirmation(entries, purge, confirm)
                if unconfirmed is not None:
                    return unconfirmed
            remove_entries(self.kb, entries, now)
            if not purge:
                return ForgetOutcome(True, entries)
            erasure = purged(self.kb, [entry.id for entry in entries], [Path(path) for path in backups], now)
        return ForgetOutcome(
            True, entries, purged=True, erased=tuple(erasure.erased), unreached=tuple(erasure.unreached)
        )

    def _find_targets(
        self, view: ScopedView, id: str | None, query: str | None, k: int, purge: bool
    ) -> tuple[MemoryEntry, ...]:
        """The memories that a `forget` would remove."""
        if id is not None:
            return find_targets(view, id, purge)
        request = RecallQuery(str(query), self._now(), k, None, (), self._pipeline(None))
        answer = recall(self.kb, view, request, adaptive=False)
        return with_predecessors(view, [hit.memory for hit in answer.hits])

    # -- reading

    def recall(
        self,
        query: str,
        *,
        scope: ScopeNames,
        k: int = 5,
        at: Moment = None,
        since: Moment = None,
        until: Moment = None,
        category: str | None = None,
        tags: Iterable[str] = (),
        pipeline: str | Pipeline | None = None,
        adaptive: bool = True,
        budget: int | None = None,
    ) -> RecallAnswer:
        """The memories that answer a query, best first, at most k.

        `at` is the clock: what was created later, had expired by then or was superseded by then is not recalled; a
        superseded memory that is found is served as its successor, with a note. `since` and `until` keep memories
        created between: dates, or words such as "last week", resolved against the clock. Dates in the query itself
        ("in September") raise the memories of that time and exclude none, except "as of March 2024", which is the
        clock; the answer's `range` and `at` show them. `tags` must all be there. `pipeline`
        is another than this memory's own. With `adaptive`, a message that needs no memory ("thanks!") is not looked
        up, and `skipped` says why. `budget` adds a context of at most so many tokens, packed from the memories served.
        """
        (answer,) = self.recall_many(
            (query,),
            scope=scope,
            k=k,
            at=at,
            since=since,
            until=until,
            category=category,
            tags=tags,
            pipeline=pipeline,
            adaptive=adaptive,
            budget=budget,
        )
        return answer

    def recall_many(
        self,
        queries: Iterable[str],
        *,
        scope: ScopeNames,
        k: int = 5,
        at: Moment = None,
        since: Moment = None,
        until: Moment = None,
        category: str | None = None,
        tags: Iterable[str] = (),
        pipeline: str | Pipeline | None = None,
        adaptive: bool = True,
        budget: int | None = None,
    ) -> tuple[RecallAnswer, ...]:
        """Recall for several queries with the same options, in their order, all from the same state of the store."""
        now = resolve_moment(at, self._now(), "at")
        created, labels, chosen = resolve_range(since, until, now), check_tags(tags), self._pipeline(pipeline, budget)
        view = self._view(scope)
        requests = [RecallQuery(query, now, k, category, labels, chosen, created) for query in queries]
        return tuple(recall(self.kb, view, request, adaptive=adaptive) for request in requests)

    def explain(
        self,
        query: str,
        id: str,
        *,
        scope: ScopeNames,
        k: int = 5,
        at: Moment = None,
        pipeline: str | Pipeline | None = None,
    ) -> MemoryExplanation:
        """Why a memory is at its place for a query, or why it is not recalled."""
        request = RecallQuery(query, resolve_moment(at, self._now(), "at"), k, None, (), self._pipeline(pipeline))
        view = self._view(scope)
        return explain(self.kb, view, request, view.get(id))

    def get(self, id: str, *, scope: ScopeNames) -> MemoryEntry:
        """One memory by its id or a unique beginning; StoreError where these scopes hold none."""
        return self._view(scope).get(id)

    def list(
        self,
        *,
        scope: ScopeNames,
        category: str | None = None,
        tags: Iterable[str] = (),
        at: Moment = None,
        since: Moment = None,
        until: Moment = None,
        limit: int | None = 50,
        offset: int = 0,
        everything: bool = False,
    ) -> tuple[MemoryEntry, ...]:
        """Memories, newest first; `everything` also shows the superseded and the expired. With `at` those that were
        current then: what was created later is left out, what was superseded later is there. `since` and `until`
        keep those created between."""
        view = self._view(scope)
        now = resolve_moment(at, self._now(), "at")
        created = resolve_range(since, until, now)
        entries = view.entries(*view.conditions(category, check_tags(tags), None if everything else now, created))
        shown = (entry for entry in entries if everything or view.is_current(entry, None if at is None else now))
        return tuple(islice(shown, offset, None if limit is None else offset + limit))

    def stats(self, scope: ScopeNames, *, at: Moment = None) -> MemoryStats:
        """How much is remembered in these scopes; with `at`, how much was then."""
        return count_memories(self._view(scope), resolve_moment(at, self._now(), "at"), past=at is not None)

    def history(self, id: str, *, scope: ScopeNames) -> tuple[MemoryChange, ...]:
        """Every state a memory was in, oldest first, with what changed it; a forgotten one too, until it is purged."""
        return self._view(scope).history(id)

    # -- moving

    def export(self, scope: ScopeNames) -> Iterator[str]:
        """Every memory of these scopes as a line of JSON, oldest first, the superseded and the expired included."""
        return export_lines(self._view(scope))

    def import_(
        self,
        source: str | Path | Iterable[str],
        *,
        scope: ScopeNames,
        format: str = "jsonl",
        into: str | None = None,
        on_duplicate: OnDuplicate = "skip",
        progress: Progress = lambda *_: None,
    ) -> ImportOutcome:
        """Bring memories in from a file, or from lines of JSON; formats: `assay.memory.importers.IMPORTERS`.

        `into` puts all of them into one scope; otherwise each keeps its own. A record outside `scope` is a problem
        on the record, and is not taken.
        """
        records = Path(source) if isinstance(source, str | Path) else source
        target = None if into is None else check_scope(into)
        run = ImportRun(self._session(self._now()), Scopes.of(scope), target, on_duplicate, progress)
        return run.run(records, format)

    # --

    def _pipeline(self, pipeline: str | Pipeline | None, budget: int | None = None) -> Pipeline:
        return self.kb.pipeline(self.pipeline if pipeline is None else pipeline, budget)

    def _session(self, now: float) -> StoreSession:
        return StoreSession(self.kb, now, self.secrets, self.limits)

    def _now(self) -> float:
        return resolve_moment(None, self.clock(), "clock")

    def _view(self, scope: ScopeNames) -> ScopedView:
        return ScopedView(self.kb, Scopes.of(scope))
