"""Facts: what is true in the simulated organisation, from when to when. Text is only a rendering of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise
from typing import NamedTuple

from assay.errors import AssayError


class FactKey(NamedTuple):
    """Identifies a fact: `version` is the version of the policy or release that states it, "" elsewhere."""

    subject: str
    attribute: str
    start: date
    version: str


@dataclass(frozen=True, slots=True)
class Fact:
    """An attribute of a subject with its value, valid from `start` until `end` (exclusive; None: still valid)."""

    subject: str
    attribute: str
    value: str
    start: date
    end: date | None = None
    version: str = ""

    @property
    def key(self) -> FactKey:
        return FactKey(self.subject, self.attribute, self.start, self.version)

    def is_valid(self, day: date) -> bool:
        return self.start <= day and (self.end is None or day < self.end)


class FactTable:
    """The state of a department over time. `set_value` closes the earlier value and opens the new one."""

    def __init__(self) -> None:
        self._facts: dict[FactKey, Fact] = {}
        self._history: dict[tuple[str, str, str], list[FactKey]] = {}

    def __iter__(self) -> Iterator[Fact]:
        return iter(self._facts.values())

    def __len__(self) -> int:
        return len(self._facts)

    def __getitem__(self, key: FactKey) -> Fact:
        return self._facts[key]

    def set_value(self, subject: str, attribute: str, value: str, day: date, version: str = "") -> Fact:
        """Set the value of an attribute from a day on; the value before it ends on that day."""
        keys = self._history.get((subject, attribute, version))
        if keys:
            last = self._facts[keys[-1]]
            if last.start >= day:
                raise AssayError(f"{last.key} is set again on {day}", "set the values of a fact in the order of time")
            self._facts[keys[-1]] = replace(last, end=day)
        return self.add(Fact(subject, attribute, value, day, None, version))

    def add(self, fact: Fact) -> Fact:
        """Add a fact whose validity is known; its key must be new."""
        if fact.key in self._facts:
            raise AssayError(f"the fact {fact.key} is set twice", "give every fact its own subject, day or version")
        self._history.setdefault((fact.subject, fact.attribute, fact.version), []).append(fact.key)
        self._facts[fact.key] = fact
        return fact

    def history(self, subject: str, attribute: str, version: str = "") -> list[Fact]:
        """The values of an attribute in the order of time."""
        return [self._facts[key] for key in self._history.get((subject, attribute, version), ())]

    def current(self, subject: str, attribute: str, version: str = "") -> Fact:
        """The value that is valid at the end of the simulation."""
        return self.history(subject, attribute, version)[-1]


def find_fact_conflicts(facts: Iterable[Fact]) -> list[str]:
    """Find facts with equal keys and values of one attribute whose validity overlaps; empty if there are none."""
    conflicts: list[str] = []
    groups: dict[tuple[str, str, str], list[Fact]] = {}
    for fact in facts:
        groups.setdefault((fact.subject, fact.attribute, fact.version), []).append(fact)
    for group in groups.values():
        group.sort(key=lambda fact: fact.start)
        for before, after in pairwise(group):
            if before.key == after.key:
                conflicts.append(f"fact key {before.key} occurs twice")
            elif before.end is None or before.end > after.start:
                conflicts.append(f"the facts {before.key} and {after.key} overlap")
    return conflicts
