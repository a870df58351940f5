"""Export of memories as lines of JSON, and import from there or from other programs.

An imported memory keeps its id if that is free and plain, so a second import of the same file changes nothing. Links
between superseded memories and their successors are kept. Memories are stored in batches; what an interrupted import
has written stays, and importing again completes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from assay.errors import AssayError
from assay.kb import KnowledgeBase
from assay.memory.entries import new_entry, resolve_moment
from assay.memory.importers import ImportedMemory, RejectedRecord, load_reader
from assay.memory.remember import StoreRequest, StoreSession
from assay.memory.scoped_view import ScopedView
from assay.memory.scopes import Scopes
from assay.memory.types import ImportOutcome, MemoryEntry, OnDuplicate, StoreOutcome
from assay.memory.writer import is_taken, redraft_entry, write_drafts, write_lock
from assay.text.secrets import find_secrets
from assay.types import Progress

_PLAIN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}")
CATEGORY, IMPORTANCE, SCOPE = "fact", 0.7, "global"
"""Defaults for imported memories without these fields."""


def export_lines(view: ScopedView) -> Iterator[str]:
    """Every memory of a view as a line of JSON, oldest first."""
    for entry in sorted(view.entries(), key=lambda entry: (entry.created, entry.id)):
        yield json.dumps(entry.to_json(), ensure_ascii=False)


_ImportPair = tuple[ImportedMemory, MemoryEntry]


@dataclass
class ImportRun:
    """One import in progress. `scope` is where everything goes, None where each record keeps its own."""

    session: StoreSession
    scopes: Scopes
    scope: str | None
    on_duplicate: OnDuplicate
    progress: Progress = lambda *_: None
    names: dict[str, str] = field(default_factory=dict)
    """Ids in the source → ids here."""
    links: list[tuple[str, str, str]] = field(default_factory=list)
    """(scope, id here, id of its successor in the source)"""
    stored: list[str] = field(default_factory=list)
    skipped: int = 0
    refused: int = 0
    problems: list[tuple[str, str]] = field(default_factory=list)

    @property
    def kb(self) -> KnowledgeBase:
        return self.session.kb

    def run(self, source: Path | Iterable[str], format: str) -> ImportOutcome:
        records = list(load_reader(format)(source))
        self.problems += [(record.where, record.why) for record in records if isinstance(record, RejectedRecord)]
        memories = [pair for record in records if isinstance(record, ImportedMemory) for pair in self._check(record)]
        # the superseded ones last, or a near-identical successor would count as a duplicate
        self._store(sorted(memories, key=lambda pair: bool(pair[0].superseded_by)))
        self._link()
        return ImportOutcome(len(self.stored), self.skipped, self.refused, tuple(self.problems), tuple(self.stored))

    def _check(self, memory: ImportedMemory) -> Iterator[_ImportPair]:
        """Yield a record with its entry; nothing for one that cannot be taken."""
        try:
            entry = self._entry(memory)
        except AssayError as error:
            self.problems.append((memory.where, error.message))
            return
        if entry.scope in self.scopes:
            yield memory, entry
        else:
            why = f"its scope {entry.scope!r} was not named: name it as a scope, or put all into one"
            self.problems.append((memory.where, why))

    def _store(self, pairs: Sequence[_ImportPair]) -> None:
        """Store records, without those that were imported before; a second record of an id gets another one."""
        views = {scope: ScopedView(self.kb, Scopes((scope,))) for scope in {entry.scope for _, entry in pairs}}
        new: list[_ImportPair] = []
        texts: dict[str, str] = {}
        for memory, entry in pairs:
            existing = views[entry.scope].find(entry.id) if is_taken(self.kb, entry.id) else None
            if entry.text == (texts.get(entry.id) if existing is None else existing.text):
                self.names[memory.id] = entry.id
                self.skipped += 1
                continue
            new.append((memory, replace(entry, id="") if entry.id in texts else entry))
            if entry.id:
                texts.setdefault(entry.id, entry.text)
        requests = [
            StoreRequest(entry, (), "force" if memory.superseded_by else self.on_duplicate) for memory, entry in new
        ]
        done = 0
        for outcomes in self.session.store_batches(requests):
            for (memory, entry), outcome in zip(new[done : done + len(outcomes)], outcomes, strict=True):
                self._take(memory, entry, outcome)
            done += len(outcomes)
            self.progress("importing memories", done, len(new))

    def _take(self, memory: ImportedMemory, entry: MemoryEntry, outcome: StoreOutcome | AssayError) -> None:
        """Count what was done with a record."""
        if isinstance(outcome, AssayError):
            self.problems.append((memory.where, outcome.message))
            return
        if outcome.action == "refused":
            self.refused += 1
            if find_secrets(memory.text):
                self.problems.append((memory.where, outcome.reason))
            return
        self.names[memory.id] = outcome.id
        if outcome.action == "stored" or outcome.action == "superseded":
            self.stored.append(outcome.id)
        else:
            self.skipped += 1
        if memory.superseded_by:
            self.links.append((entry.scope, outcome.id, memory.superseded_by))

    def _entry(self, memory: ImportedMemory) -> MemoryEntry:
        created = resolve_moment(memory.created, self.session.now, "created")
        entry = new_entry(
            memory.text,
            self.scope or (SCOPE if memory.scope is None else memory.scope),
            memory.category or CATEGORY,
            IMPORTANCE if memory.importance is None else memory.importance,
            memory.tags,
            created,
            None if memory.expires is None else resolve_moment(memory.expires, self.session.now, "expires"),
            self.session.now if memory.updated is None else resolve_moment(memory.updated, self.session.now, "updated"),
        )
        return replace(entry, id=memory.id if _PLAIN_ID.fullmatch(memory.id) else "")

    def _link(self) -> None:
        """Link superseded memories to their successors, once all are stored."""
        for scope, name, successor in self.links:
            with write_lock(self.kb):
                view = ScopedView(self.kb, Scopes((scope,)))
                superseded, new = view.find(name), view.find(self.names.get(successor, successor))
                if new is None:
                    why = f"it is superseded by {successor!r}, which did not come along: it counts as current here"
                    self.problems.append((name, why))
                if superseded is None or new is None or superseded.id == new.id:
                    continue
                names = tuple(sorted({*new.supersedes, superseded.id}))
                drafts = [
                    redraft_entry(self.kb, view, superseded, replace(superseded, superseded_by=new.id)),
                    redraft_entry(self.kb, view, new, replace(new, supersedes=names)),
                ]
                write_drafts(self.kb, drafts, "linked", self.session.now)
