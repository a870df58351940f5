"""Stores a memory: noise check, duplicate check, and the policy for duplicates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from assay.errors import ConfigError, QueryError, nearest
from assay.kb import KnowledgeBase
from assay.memory.conflicts import find_conflicts
from assay.memory.duplicates import find_near
from assay.memory.entries import check_text, derive_id, entry_from_chunks
from assay.memory.safety import SecretPolicy, StoreLimits, handle_secrets
from assay.memory.scoped_view import ScopedView
from assay.memory.scopes import Scopes
from assay.memory.types import Conflict, MemoryEntry, NearDuplicate, OnDuplicate, StoreOutcome
from assay.memory.writer import Draft, draft_entry, is_taken, redraft_entry, replace_entry, write_drafts, write_lock
from assay.text.noise_filter import classify_noise


def remember(
    kb: KnowledgeBase,
    entry: MemoryEntry,
    supersedes: Sequence[str],
    on_duplicate: OnDuplicate,
    now: float,
    secrets: SecretPolicy,
    limits: StoreLimits,
) -> StoreOutcome:
    """Store one memory; the outcome says what was done and why."""
    if on_duplicate not in DUPLICATE_POLICIES:
        raise ConfigError(f"there is no on_duplicate {on_duplicate!r}", nearest(on_duplicate, DUPLICATE_POLICIES))
    noise_match = classify_noise(entry.text)
    if noise_match.noisy:
        return StoreOutcome("", "refused", f"noise ({noise_match.category}): {noise_match.reason}")
    text, secret = handle_secrets(check_text(entry.text, limits.characters), secrets)
    if not text:
        return StoreOutcome("", "refused", secret)
    entry = entry if text == entry.text else replace(entry, text=text)
    draft = draft_entry(kb, entry)  # before the lock: embedding takes longest
    with write_lock(kb):
        view = ScopedView(kb, Scopes((entry.scope,)))
        _check_room(view, entry.scope, limits)
        superseded = _resolve_superseded(view, supersedes)
        near = find_near(view, entry.text, draft.vectors[0], now)
        duplicates = [one for one in near if one.duplicate and one.memory.id not in {old.id for old in superseded}]
        return DUPLICATE_POLICIES[on_duplicate](
            _StoreCase(kb, view, draft, tuple(superseded), near, tuple(duplicates), now, secret)
        )


def _check_room(view: ScopedView, scope: str, limits: StoreLimits) -> None:
    if limits.memories is not None and view.count() >= limits.memories:
        raise QueryError(
            f"the scope {scope!r} holds {limits.memories:,} memories, which is its limit; this one was not stored",
            "forget some of them: assay memory list, assay memory forget",
        )


@dataclass(frozen=True, slots=True)
class _StoreCase:
    """A memory to store, with what it supersedes and its near-duplicates: the input of a duplicate policy."""

    kb: KnowledgeBase
    view: ScopedView
    draft: Draft
    superseded: tuple[MemoryEntry, ...]
    near: tuple[NearDuplicate, ...]
    duplicates: tuple[NearDuplicate, ...]
    now: float
    masked: str = ""
    """What was masked in the text."""


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
    write_drafts(case.kb, [draft, *_redraft_superseded(case, case.superseded, linked.id)], "merged", case.now)
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
    while is_taken(case.kb, entry.id):
        times += 1
        entry = replace(entry, id=derive_id(entry, times))
    draft = replace_entry(case.kb, case.draft, entry) if entry != case.draft.memory else case.draft
    write_drafts(case.kb, [draft, *_redraft_superseded(case, case.superseded, entry.id)], "stored", case.now)
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
    return find_conflicts(entry.text, entry.created, near, case.view.snapshot.analyser)


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
