"""Stores memories, one or a batch: noise check, duplicate check, and the policy for duplicates."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import zip_longest

from assay.errors import AssayError, ConfigError, QueryError, StoreError, nearest
from assay.kb import KnowledgeBase
from assay.memory.compared_text import TextReader
from assay.memory.conflicts import find_conflicts
from assay.memory.duplicates import find_near
from assay.memory.entries import check_text, derive_id, entry_from_chunks
from assay.memory.pending import PendingMemories
from assay.memory.safety import SecretPolicy, StoreLimits, handle_secrets
from assay.memory.scope_neighbours import ScopeNeighbours
from assay.memory.scoped_view import ScopedView
from assay.memory.scopes import Scopes
from assay.memory.types import Conflict, MemoryEntry, NearDuplicate, OnDuplicate, StoreOutcome
from assay.memory.writer import Draft, draft_entries, is_taken, redraft_entry, replace_entry, write_drafts, write_lock
from assay.text.noise_filter import classify_noise
from assay.types import Rows

BATCH = 256
"""Memories that are embedded, compared and written together."""


@dataclass(frozen=True, slots=True)
class StoreRequest:
    """A memory to store, the ids that it supersedes, and what to do if it is known."""

    entry: MemoryEntry
    supersedes: tuple[str, ...] = ()
    on_duplicate: OnDuplicate = "skip"

    def __post_init__(self) -> None:
        if self.on_duplicate not in DUPLICATE_POLICIES:
            raise ConfigError(
                f"there is no on_duplicate {self.on_duplicate!r}", nearest(self.on_duplicate, DUPLICATE_POLICIES)
            )


class StoreSession:
    """Stores memories at one moment, under one policy for secrets and one set of limits."""

    def __init__(self, kb: KnowledgeBase, now: float, secrets: SecretPolicy, limits: StoreLimits) -> None:
        self.kb = kb
        self.now = now
        self.secrets = secrets
        self.limits = limits
        self.reader = TextReader(kb.snapshot().analyser)

    def store(self, request: StoreRequest) -> StoreOutcome:
        """Store one memory; the outcome says what was done and why."""
        ((outcome,),) = self.store_batches([request])
        if isinstance(outcome, AssayError):
            raise outcome
        return outcome

    def store_batches(self, requests: Sequence[StoreRequest]) -> Iterator[list[StoreOutcome | AssayError]]:
        """Store memories as if one after the other; an outcome or an error for each, batch by batch.

        A batch is written in one transaction, and durable when it is yielded. One that changes a known memory (it
        supersedes it or is merged into it) is written at once, after those before it. While a batch is compared with
        what is known, the next one is embedded in another thread.
        """
        batches = [requests[start : start + BATCH] for start in range(0, len(requests), BATCH)]
        if len(batches) == 1:  # no thread for a single one
            yield self._write(batches[0], self._prepare(batches[0]))
        elif batches:
            with ThreadPoolExecutor(1, "assay-embed") as thread:
                prepared = thread.submit(self._prepare, batches[0])
                for batch, following in zip_longest(batches, batches[1:]):
                    ready = prepared.result()
                    if following is not None:
                        prepared = thread.submit(self._prepare, following)
                    yield self._write(batch, ready)

    def _prepare(self, requests: Sequence[StoreRequest]) -> list[_CheckedDraft | StoreOutcome | AssayError]:
        """Check and embed: what needs no lock and takes longest."""
        checked = [_check(request.entry, self.secrets, self.limits) for request in requests]
        drafts = iter(draft_entries(self.kb, [one.entry for one in checked if isinstance(one, _CheckedEntry)]))
        return [_CheckedDraft(next(drafts), one.masked) if isinstance(one, _CheckedEntry) else one for one in checked]

    def _write(
        self, requests: Sequence[StoreRequest], prepared: Sequence[_CheckedDraft | StoreOutcome | AssayError]
    ) -> list[StoreOutcome | AssayError]:
        accepted = [one.draft for one in prepared if isinstance(one, _CheckedDraft)]
        if not accepted:
            return [one for one in prepared if not isinstance(one, _CheckedDraft)]
        with write_lock(self.kb):
            batch = _StoreBatch(self, accepted)
            outcomes = [
                batch.store(one.draft, request, one.masked) if isinstance(one, _CheckedDraft) else one
                for request, one in zip(requests, prepared, strict=True)
            ]
            batch.flush()
        return outcomes


@dataclass(frozen=True, slots=True)
class _CheckedEntry:
    entry: MemoryEntry
    masked: str
    """What was masked in the text."""


@dataclass(frozen=True, slots=True)
class _CheckedDraft:
    draft: Draft
    masked: str


def _check(entry: MemoryEntry, secrets: SecretPolicy, limits: StoreLimits) -> _CheckedEntry | StoreOutcome | QueryError:
    """The entry as it may be stored, or why it is refused, or the error in it."""
    noise_match = classify_noise(entry.text)
    if noise_match.noisy:
        return StoreOutcome("", "refused", f"noise ({noise_match.category}): {noise_match.reason}")
    try:
        text, secret = handle_secrets(check_text(entry.text, limits.characters), secrets)
    except QueryError as error:
        return error
    if not text:
        return StoreOutcome("", "refused", secret)
    return _CheckedEntry(entry if text == entry.text else replace(entry, text=text), secret)


class _StoreBatch:
    """Stores drafts one after the other, under the lock. New ones are written at the next `flush`, together; until
    then `pending` has them by scope, and every view is of the state before them."""

    def __init__(self, session: StoreSession, drafts: Sequence[Draft]) -> None:
        self.kb = session.kb
        self.now = session.now
        self.limits = session.limits
        self.reader = session.reader
        self.pending: dict[str, PendingMemories] = defaultdict(PendingMemories)
        self._waiting = deque(drafts)
        """Those that are still to be stored, in their order."""
        self._views: dict[str, ScopedView] = {}
        self._neighbours: dict[str, ScopeNeighbours] = {}
        self._ids: set[str] = set()

    def store(self, draft: Draft, request: StoreRequest, masked: str) -> StoreOutcome | AssayError:
        if request.supersedes:
            self.flush()
        try:
            self._check_room(draft.memory.scope)
            superseded = _resolve_superseded(self.view(draft.memory.scope), request.supersedes)
        except (QueryError, StoreError) as error:
            self._waiting.popleft()
            return error
        case = self._case(draft, tuple(superseded), masked)
        if request.on_duplicate in _REWRITING and any(one.memory.id in self._ids for one in case.duplicates):
            self.flush()  # what is rewritten must be in the store
            case = self._case(draft, tuple(superseded), masked)
        self._waiting.popleft()
        return DUPLICATE_POLICIES[request.on_duplicate](case)

    def _case(self, draft: Draft, superseded: tuple[MemoryEntry, ...], masked: str) -> _StoreCase:
        scope, text = draft.memory.scope, draft.memory.text
        vector, pending = draft.vectors[0], self.pending[scope]
        near = find_near(self.view(scope), text, vector, self.now, self.reader, pending, self._near_rows(draft))
        known = {old.id for old in superseded}
        duplicates = tuple(one for one in near if one.duplicate and one.memory.id not in known)
        return _StoreCase(self, draft, superseded, near, duplicates, masked)

    def _near_rows(self, draft: Draft) -> Rows | None:
        """The rows nearest to a draft by vector, from a table for all that wait; None where a table does not pay."""
        scope = draft.memory.scope
        if scope not in self._neighbours:
            waiting = [one for one in self._waiting if one.memory.scope == scope]
            self._neighbours[scope] = ScopeNeighbours(self.view(scope), self.now, waiting)
        return self._neighbours[scope].rows(draft)

    def view(self, scope: str) -> ScopedView:
        if scope not in self._views:
            self._views[scope] = ScopedView(self.kb, Scopes((scope,)))
        return self._views[scope]

    def is_taken(self, memory_id: str) -> bool:
        return memory_id in self._ids or is_taken(self.kb, memory_id)

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

    def _check_room(self, scope: str) -> None:
        most = self.limits.memories
        if most is not None and self.view(scope).count() + self.pending[scope].chunks >= most:
            raise QueryError(
                f"the scope {scope!r} holds {most:,} memories, which is its limit; this one was not stored",
                "forget some of them: assay memory list, assay memory forget",
            )


@dataclass(frozen=True, slots=True)
class _StoreCase:
    """A memory to store, with what it supersedes and its near-duplicates: the input of a duplicate policy."""

    batch: _StoreBatch
    draft: Draft
    superseded: tuple[MemoryEntry, ...]
    near: tuple[NearDuplicate, ...]
    duplicates: tuple[NearDuplicate, ...]
    masked: str = ""
    """What was masked in the text."""

    @property
    def kb(self) -> KnowledgeBase:
        return self.batch.kb

    @property
    def now(self) -> float:
        return self.batch.now

    @property
    def view(self) -> ScopedView:
        return self.batch.view(self.draft.memory.scope)


def _resolve_superseded(view: ScopedView, ids: Sequence[str]) -> list[MemoryEntry]:
    """Resolve ids to memories, each to its current successor."""
    entries = [view.get(prefix) for prefix in ids]
    current = {found.id: found for found in (view.successor(entry, None) or entry for entry in entries)}
    return list(current.values())


def _skip(case: _StoreCase) -> StoreOutcome:
    """Skip a text that adds nothing; store a duplicate that says more."""
    duplicate = next((one for one in case.duplicates if not one.adds), None)
    if duplicate is None or case.superseded:
        return _store(case)
    return StoreOutcome(
        duplicate.memory.id,
        "skipped",
        f"{duplicate.memory.id} says it already: {duplicate.why}",
        case.near,
        duplicate.memory,
    )


def _merge(case: _StoreCase) -> StoreOutcome:
    """Merge into the nearest duplicate: the fuller text, all tags, the higher importance, the later expiry."""
    if not case.duplicates:
        return _store(case)
    new, duplicate = case.draft.memory, case.duplicates[0]
    old = duplicate.memory
    ends = None if old.expires is None or new.expires is None else max(old.expires, new.expires)
    merged = replace(
        old,
        text=new.text if duplicate.adds else old.text,
        importance=max(old.importance, new.importance),
        tags=tuple(sorted({*old.tags, *new.tags})),
        expires=ends,
        updated=case.now,
    )
    linked = _add_links(case, merged)
    draft = (
        replace_entry(case.kb, case.draft, linked) if duplicate.adds else redraft_entry(case.kb, case.view, old, linked)
    )
    case.batch.rewrite([draft, *_redraft_superseded(case, case.superseded, linked.id)], "merged")
    return StoreOutcome(
        linked.id, "merged", f"into {linked.id}: {duplicate.why}", case.near, entry_from_chunks(draft.chunks)
    )


def _supersede(case: _StoreCase) -> StoreOutcome:
    """Store the new memory in place of its duplicates."""
    every = {entry.id: entry for entry in (*case.superseded, *(one.memory for one in case.duplicates))}
    return _store(replace(case, superseded=tuple(every.values())))


def _store(case: _StoreCase) -> StoreOutcome:
    entry = _add_links(case, case.draft.memory)
    times = 0
    while case.batch.is_taken(entry.id):
        times += 1
        entry = replace(entry, id=derive_id(entry, times))
    draft = replace_entry(case.kb, case.draft, entry) if entry != case.draft.memory else case.draft
    if case.superseded:
        case.batch.rewrite([draft, *_redraft_superseded(case, case.superseded, entry.id)], "stored")
    else:
        case.batch.add(draft)
    names = ", ".join(old.id for old in case.superseded)
    why = f"in place of {names}" if names else _novelty_reason(case)
    conflicts = _find_conflicts(case, entry)
    doubt = f"it may replace {', '.join(one.memory.id for one in conflicts)}: see conflicts" if conflicts else ""
    expiry = "it has expired already, and is not recalled" if _is_expired(entry, case.now) else ""
    reason = "; ".join(part for part in (why, case.masked, doubt, expiry, draft.problem) if part)
    return StoreOutcome(
        entry.id, "superseded" if names else "stored", reason, case.near, entry_from_chunks(draft.chunks), conflicts
    )


def _find_conflicts(case: _StoreCase, entry: MemoryEntry) -> tuple[Conflict, ...]:
    """Known memories that a new one may replace, without those that it does replace."""
    replaced = {old.id for old in case.superseded}
    near = [one for one in case.near if one.memory.id not in replaced]
    return find_conflicts(entry.text, entry.created, near, case.batch.reader)


def _is_expired(entry: MemoryEntry, now: float) -> bool:
    return entry.expires is not None and entry.expires <= max(now, entry.created)


def _novelty_reason(case: _StoreCase) -> str:
    """Why a memory was stored, given its near-duplicates."""
    if not case.near:
        return "nothing like it is known"
    first = case.near[0]
    if not first.duplicate:
        return f"nearest is {first.memory.id}: {first.why}"
    return f"beside {first.memory.id}, " + (f"which lacks: {', '.join(first.adds)}" if first.adds else "as asked")


def _add_links(case: _StoreCase, entry: MemoryEntry) -> MemoryEntry:
    """Add links to what it supersedes."""
    names = {*entry.supersedes, *(old.id for old in case.superseded)} - {entry.id}
    return replace(entry, supersedes=tuple(sorted(names)))


def _redraft_superseded(case: _StoreCase, entries: Sequence[MemoryEntry], successor: str) -> list[Draft]:
    return [
        redraft_entry(case.kb, case.view, old, replace(old, superseded_by=successor, updated=case.now))
        for old in entries
        if old.id != successor
    ]


DUPLICATE_POLICIES: Mapping[str, Callable[[_StoreCase], StoreOutcome]] = {
    "skip": _skip,
    "merge": _merge,
    "supersede": _supersede,
    "force": _store,
}
_REWRITING = ("merge", "supersede")
"""The policies that change known duplicates."""
