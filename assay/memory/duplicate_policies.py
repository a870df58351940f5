"""What is done with a memory that is already known: skip it, merge it, supersede the known one, or store both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from assay.kb import KnowledgeBase
from assay.memory.conflicts import find_conflicts
from assay.memory.entries import derive_id, entry_from_chunks
from assay.memory.scoped_view import ScopedView
from assay.memory.store_batch import StoreBatch
from assay.memory.types import Conflict, MemoryEntry, NearDuplicate, StoreOutcome
from assay.memory.writer import Draft, redraft_entry, replace_entry


@dataclass(frozen=True, slots=True)
class StoreCase:
    """A memory to store, with what it supersedes and its near-duplicates: the input of a duplicate policy."""

    batch: StoreBatch
    draft: Draft
    superseded: tuple[MemoryEntry, ...]
    near: tuple[NearDuplicate, ...]
    duplicates: tuple[NearDuplicate, ...]
    masked: str = ""
    """What was masked in the text."""

    @staticmethod
    def of(batch: StoreBatch, draft: Draft, superseded: Sequence[MemoryEntry], masked: str) -> StoreCase:
        """The case of a draft, compared with what is known; what it supersedes is no duplicate of it."""
        near = batch.find_near(draft)
        known = {old.id for old in superseded}
        duplicates = tuple(one for one in near if one.duplicate and one.memory.id not in known)
        return StoreCase(batch, draft, tuple(superseded), near, duplicates, masked)

    @property
    def kb(self) -> KnowledgeBase:
        return self.batch.kb

    @property
    def now(self) -> float:
        return self.batch.now

    @property
    def view(self) -> ScopedView:
        return self.batch.view(self.draft.memory.scope)


def _skip(case: StoreCase) -> StoreOutcome:
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


def _merge(case: StoreCase) -> StoreOutcome:
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


def _supersede(case: StoreCase) -> StoreOutcome:
    """Store the new memory in place of its duplicates."""
    every = {entry.id: entry for entry in (*case.superseded, *(one.memory for one in case.duplicates))}
    return _store(replace(case, superseded=tuple(every.values())))


def _store(case: StoreCase) -> StoreOutcome:
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


def _find_conflicts(case: StoreCase, entry: MemoryEntry) -> tuple[Conflict, ...]:
    """Known memories that a new one may replace, without those that it does replace."""
    replaced = {old.id for old in case.superseded}
    near = [one for one in case.near if one.memory.id not in replaced]
    return find_conflicts(entry.text, entry.created, near, case.batch.reader)


def _is_expired(entry: MemoryEntry, now: float) -> bool:
    return entry.expires is not None and entry.expires <= max(now, entry.created)


def _novelty_reason(case: StoreCase) -> str:
    """Why a memory was stored, given its near-duplicates."""
    if not case.near:
        return "nothing like it is known"
    first = case.near[0]
    if not first.duplicate:
        return f"nearest is {first.memory.id}: {first.why}"
    return f"beside {first.memory.id}, " + (f"which lacks: {', '.join(first.adds)}" if first.adds else "as asked")


def _add_links(case: StoreCase, entry: MemoryEntry) -> MemoryEntry:
    """Add links to what it supersedes."""
    names = {*entry.supersedes, *(old.id for old in case.superseded)} - {entry.id}
    return replace(entry, supersedes=tuple(sorted(names)))


def _redraft_superseded(case: StoreCase, entries: Sequence[MemoryEntry], successor: str) -> list[Draft]:
    return [
        redraft_entry(case.kb, case.view, old, replace(old, superseded_by=successor, updated=case.now))
        for old in entries
        if old.id != successor
    ]


DUPLICATE_POLICIES: Mapping[str, Callable[[StoreCase], StoreOutcome]] = {
    "skip": _skip,
    "merge": _merge,
    "supersede": _supersede,
    "force": _store,
}
REWRITING = ("merge", "supersede")
"""The policies that change known duplicates."""
