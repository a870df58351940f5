"""Memories leave as lines of JSON, and come in from there or from other programs.

A memory keeps its id on the way in where it is free and plain, so a second import of the same file finds what the first
one brought and changes nothing. Links between superseded memories and their successors come along.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from assay.errors import AssayError
from assay.kb import KnowledgeBase
from assay.memory.entries import made, moment
from assay.memory.importers import Bad, Given, reader
from assay.memory.remember import remember
from assay.memory.scopes import Scopes
from assay.memory.types import ImportOutcome, MemoryEntry, OnDuplicate
from assay.memory.window import Window
from assay.memory.writing import put, redrafted, turn

_PLAIN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}")
CATEGORY, IMPORTANCE, SCOPE = "fact", 0.7, "global"
"""What a memory is that does not say."""


def exported(window: Window) -> Iterator[str]:
    """Every memory of a window as a line of JSON, oldest first."""
    for entry in sorted(window.entries(), key=lambda entry: (entry.created, entry.id)):
        yield json.dumps(entry.to_json(), ensure_ascii=False)


@dataclass
class Import:
    """One import in progress. `scope` is where everything goes, None where each record keeps its own."""

    kb: KnowledgeBase
    scopes: Scopes
    scope: str | None
    on_duplicate: OnDuplicate
    now: float
    names: dict[str, str] = field(default_factory=dict)
    """Ids in the source → ids here."""
    links: list[tuple[str, str, str]] = field(default_factory=list)
    """(scope, id here, id of its successor in the source)"""
    stored: list[str] = field(default_factory=list)
    skipped: int = 0
    refused: int = 0
    problems: list[tuple[str, str]] = field(default_factory=list)

    def run(self, source: Path | Iterable[str], format: str) -> ImportOutcome:
        old = []
        for given in reader(format)(source):
            if isinstance(given, Bad):
                self.problems.append((given.where, given.why))
            elif given.superseded_by:
                old.append(given)
            else:
                self._attempt(given)
        for given in old:  # last, or a successor that says almost the same would be taken for known
            self._attempt(given)
        self._link()
        return ImportOutcome(len(self.stored), self.skipped, self.refused, tuple(self.problems), tuple(self.stored))

    def _attempt(self, given: Given) -> None:
        try:
            self._take(given)
        except AssayError as error:
            self.problems.append((given.where, error.message))

    def _take(self, given: Given) -> None:
        entry = self._entry(given)
        if entry.scope not in self.scopes:
            self.problems.append((given.where, f"its scope {entry.scope!r} is not one of those that may be written"))
            return
        there = Window(self.kb, Scopes((entry.scope,))).find(entry.id)
        if there is not None and there.text == entry.text:
            self.names[given.id] = there.id
            self.skipped += 1
            return
        done = remember(self.kb, entry, (), "force" if given.superseded_by else self.on_duplicate, self.now)
        if done.action == "refused":
            self.refused += 1
            return
        self.names[given.id] = done.id
        if done.action == "stored" or done.action == "superseded":
            self.stored.append(done.id)
        else:
            self.skipped += 1
        if given.superseded_by:
            self.links.append((entry.scope, done.id, given.superseded_by))

    def _entry(self, given: Given) -> MemoryEntry:
        created = moment(given.created, self.now)
        entry = made(
            given.text,
            self.scope or (SCOPE if given.scope is None else given.scope),
            given.category or CATEGORY,
            IMPORTANCE if given.importance is None else given.importance,
            given.tags,
            created,
            None if given.expires is None else moment(given.expires, self.now),
            self.now if given.updated is None else moment(given.updated, self.now),
        )
        return replace(entry, id=given.id if _PLAIN_ID.fullmatch(given.id) else "")

    def _link(self) -> None:
        """Superseded memories learn who took their place, once everybody is there."""
        for scope, name, successor in self.links:
            with turn(self.kb):
                window = Window(self.kb, Scopes((scope,)))
                old, new = window.find(name), window.find(self.names.get(successor, successor))
                if new is None:
                    why = f"it is superseded by {successor!r}, which did not come along: it counts as current here"
                    self.problems.append((name, why))
                if old is None or new is None or old.id == new.id:
                    continue
                names = tuple(sorted({*new.supersedes, old.id}))
                drafts = [
                    redrafted(self.kb, window, old, replace(old, superseded_by=new.id)),
                    redrafted(self.kb, window, new, replace(new, supersedes=names)),
                ]
                put(self.kb, drafts, "linked", self.now)
