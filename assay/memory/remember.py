"""Storing: is it noise, is it known, what does it replace?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from assay.errors import ConfigError, nearest
from assay.kb import KnowledgeBase
from assay.memory.entries import entry_of, new_id
from assay.memory.near import near
from assay.memory.scopes import Scopes
from assay.memory.types import MemoryEntry, NearDuplicate, OnDuplicate, StoreOutcome
from assay.memory.window import Window
from assay.memory.writing import Draft, drafted, is_taken, put, redrafted, renamed, turn
from assay.text.noise import noise


def remember(
    kb: KnowledgeBase, entry: MemoryEntry, supersedes: Sequence[str], on_duplicate: OnDuplicate, now: float
) -> StoreOutcome:
    """Store one memory, or say why not."""
    if on_duplicate not in WAYS:
        raise ConfigError(f"there is no on_duplicate {on_duplicate!r}", nearest(on_duplicate, WAYS))
    verdict = noise(entry.text)
    if verdict.noisy:
        return StoreOutcome("", "refused", f"noise ({verdict.category}): {verdict.reason}")
    draft = drafted(kb, entry)  # before it is our turn: embedding takes longest
    with turn(kb):
        window = Window(kb, Scopes((entry.scope,)))
        replaced = _current(window, supersedes)
        close = near(window, entry.text, draft.vectors[0], now)
        known = [one for one in close if one.duplicate and one.entry.id not in {old.id for old in replaced}]
        return WAYS[on_duplicate](_Case(kb, window, draft, tuple(replaced), close, tuple(known), now))


@dataclass(frozen=True, slots=True)
class _Case:
    """One storing, decided but for what to do with duplicates."""

    kb: KnowledgeBase
    window: Window
    draft: Draft
    replaced: tuple[MemoryEntry, ...]
    close: tuple[NearDuplicate, ...]
    known: tuple[NearDuplicate, ...]
    now: float


def _current(window: Window, ids: Sequence[str]) -> list[MemoryEntry]:
    """The memories that are named, each as what stands in its place by now."""
    named = [window.get(beginning) for beginning in ids]
    current = {found.id: found for found in (window.successor(entry, None) or entry for entry in named)}
    return list(current.values())


def _skip(case: _Case) -> StoreOutcome:
    """Nothing is stored that adds nothing. A duplicate that says more is stored: to skip it would lose that."""
    told = next((one for one in case.known if not one.adds), None)
    if told is None or case.replaced:
        return _store(case)
    return StoreOutcome(
        told.entry.id, "skipped", f"{told.entry.id} says it already: {told.why}", case.close, told.entry
    )


def _merge(case: _Case) -> StoreOutcome:
    """The nearest duplicate takes over what is new: the fuller text, all tags, the higher importance, the later end."""
    if not case.known:
        return _store(case)
    new, told = case.draft.entry, case.known[0]
    old = told.entry
    ends = None if old.expires is None or new.expires is None else max(old.expires, new.expires)
    merged = replace(
        old,
        text=new.text if told.adds else old.text,
        importance=max(old.importance, new.importance),
        tags=tuple(sorted({*old.tags, *new.tags})),
        expires=ends,
        updated=case.now,
    )
    linked = _linked(case, merged)
    made = renamed(case.kb, case.draft, linked) if told.adds else redrafted(case.kb, case.window, old, linked)
    put(case.kb, [made, *_superseded(case, case.replaced, linked.id)], "merged", case.now)
    return StoreOutcome(linked.id, "merged", f"into {linked.id}: {told.why}", case.close, entry_of(made.chunks))


def _supersede(case: _Case) -> StoreOutcome:
    """The new memory takes the place of its duplicates."""
    every = {entry.id: entry for entry in (*case.replaced, *(one.entry for one in case.known))}
    return _store(replace(case, replaced=tuple(every.values())))


def _store(case: _Case) -> StoreOutcome:
    entry = _linked(case, case.draft.entry)
    times = 0
    while is_taken(case.kb, entry.id):
        times += 1
        entry = replace(entry, id=new_id(entry, times))
    made = renamed(case.kb, case.draft, entry) if entry != case.draft.entry else case.draft
    put(case.kb, [made, *_superseded(case, case.replaced, entry.id)], "stored", case.now)
    names = ", ".join(old.id for old in case.replaced)
    said = f"in place of {names}" if names else _novelty(case)
    late = "it has expired already, and is not recalled" if _over(entry, case.now) else ""
    reason = "; ".join(part for part in (said, late, made.lacking) if part)
    return StoreOutcome(entry.id, "superseded" if names else "stored", reason, case.close, entry_of(made.chunks))


def _over(entry: MemoryEntry, now: float) -> bool:
    return entry.expires is not None and entry.expires <= max(now, entry.created)


def _novelty(case: _Case) -> str:
    """Why it was stored, seen from what is near."""
    if not case.close:
        return "nothing like it is known"
    first = case.close[0]
    if not first.duplicate:
        return f"nearest is {first.entry.id}: {first.why}"
    return f"beside {first.entry.id}, " + (f"which lacks: {', '.join(first.adds)}" if first.adds else "as asked")


def _linked(case: _Case, entry: MemoryEntry) -> MemoryEntry:
    """With links to what it replaces."""
    names = {*entry.supersedes, *(old.id for old in case.replaced)} - {entry.id}
    return replace(entry, supersedes=tuple(sorted(names)))


def _superseded(case: _Case, entries: Sequence[MemoryEntry], successor: str) -> list[Draft]:
    return [
        redrafted(case.kb, case.window, old, replace(old, superseded_by=successor, updated=case.now))
        for old in entries
        if old.id != successor
    ]


WAYS: Mapping[str, Callable[[_Case], StoreOutcome]] = {
    "skip": _skip,
    "merge": _merge,
    "supersede": _supersede,
    "force": _store,
}
