"""Stores memories, one or a batch: checked and embedded without a lock, then compared and written under it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import zip_longest

from assay.errors import AssayError, ConfigError, QueryError, StoreError, nearest
from assay.kb import KnowledgeBase
from assay.memory.compared_text import TextReader
from assay.memory.duplicate_policies import DUPLICATE_POLICIES, REWRITING, StoreCase
from assay.memory.entries import check_text
from assay.memory.safety import SecretPolicy, StoreLimits, check_labels, handle_secrets
from assay.memory.scoped_view import ScopedView
from assay.memory.store_batch import StoreBatch
from assay.memory.types import MemoryEntry, OnDuplicate, StoreOutcome
from assay.memory.writer import Draft, draft_entries, write_lock
from assay.text.noise_filter import classify_noise

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
            batch = StoreBatch(self.kb, self.now, self.limits, self.reader, accepted)
            outcomes = [
                _store_draft(batch, one.draft, request, one.masked) if isinstance(one, _CheckedDraft) else one
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
        check_labels((entry.category, *entry.tags), secrets)
        text, secret = handle_secrets(check_text(entry.text, limits.characters), secrets)
    except QueryError as error:
        return error
    if not text:
        return StoreOutcome("", "refused", secret)
    return _CheckedEntry(entry if text == entry.text else replace(entry, text=text), secret)


def _store_draft(batch: StoreBatch, draft: Draft, request: StoreRequest, masked: str) -> StoreOutcome | AssayError:
    """Store one memory of a batch by its policy for duplicates."""
    if request.supersedes:
        batch.flush()
    try:
        batch.check_room(draft.memory.scope)
        superseded = _resolve_superseded(batch.view(draft.memory.scope), request.supersedes)
    except (QueryError, StoreError) as error:
        return error
    case = StoreCase.of(batch, draft, superseded, masked)
    if request.on_duplicate in REWRITING and any(batch.is_pending(one.memory.id) for one in case.duplicates):
        batch.flush()  # what is rewritten must be in the store
        case = StoreCase.of(batch, draft, superseded, masked)
    return DUPLICATE_POLICIES[request.on_duplicate](case)


def _resolve_superseded(view: ScopedView, ids: Sequence[str]) -> list[MemoryEntry]:
    """Resolve ids to memories, each to its current successor."""
    entries = [view.get(prefix) for prefix in ids]
    current = {found.id: found for found in (view.successor(entry, None) or entry for entry in entries)}
    return list(current.values())
