"""Fusing things that have several chunks: one candidate for each session, document or whatever a field names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from assay.engine.facts import chunks_of, rows_of
from assay.engine.order import as_source
from assay.errors import ConfigError
from assay.protocols import Fuser, Snapshot
from assay.types import Chunk, Note, Query, Range, Ranking, Rows

Group = tuple[str, str]
"""("value", the field's value), or ("id", the chunk's id) for a chunk without one."""
Seat = tuple[int, str, int]
"""(priority, leg, place): where a group is first seen."""


@dataclass(frozen=True, slots=True)
class Grouped:
    """`inner` over groups instead of chunks: what 000 calls deduplication by session_id.

    A group is one value of the field `by`: doc_id, or a metadata field. Every leg keeps the first chunk of each group,
    and its ranks are counted anew; over legs a group goes by one name, the chunk of its first occurrence by (priority,
    leg, rank). So ranks and scores of one group add up, whichever of its chunks a leg found. A chunk without a value is
    a group of its own, and a note says how many there were.
    """

    inner: Fuser
    by: str = "doc_id"

    def __post_init__(self) -> None:
        if not isinstance(self.by, str) or not self.by:
            raise ConfigError(f"fuse.by = {self.by!r} names no field", "give doc_id or a metadata field")

    @property
    def needs(self) -> frozenset[str]:
        return self.inner.needs

    @property
    def symmetric(self) -> bool:
        return self.inner.symmetric

    def gives(self, legs: Mapping[str, Range]) -> Range:
        return self.inner.gives(legs)

    def fuse(self, query: Query, rankings: Mapping[str, Ranking], snapshot: Snapshot) -> Ranking:
        groups = self._groups(rankings, snapshot)
        kept = _grouped(rankings, groups, snapshot)
        return self.inner.fuse(query, kept, snapshot).noted(*self._notes(rankings, groups, kept))

    def grouped(self, rankings: Mapping[str, Ranking], snapshot: Snapshot) -> Mapping[str, Ranking]:
        """The candidates that are fused: one for each group, under the same name in every leg."""
        return _grouped(rankings, self._groups(rankings, snapshot), snapshot)

    def _groups(self, rankings: Mapping[str, Ranking], snapshot: Snapshot) -> dict[str, list[Group]]:
        """The group of every candidate; one without a value is a group of its own, by its id."""
        return {
            leg: [
                ("value", _spelt(value)) if (value := self._value(chunk)) not in (None, "") else ("id", name)
                for name, chunk in zip(found.ids.tolist(), chunks_of(found, snapshot), strict=True)
            ]
            for leg, found in rankings.items()
        }

    def _value(self, chunk: Chunk | None) -> object:
        if chunk is None:
            return None
        return chunk.doc_id if self.by == "doc_id" else chunk.meta.get(self.by)

    def _notes(
        self,
        rankings: Mapping[str, Ranking],
        groups: Mapping[str, list[Group]],
        kept: Mapping[str, Ranking],
    ) -> Iterable[Note]:
        names = {name for found in kept.values() for name in found.ids.tolist()}
        every = dict.fromkeys(name for leg in sorted(rankings) for name in rankings[leg].ids.tolist())
        merged = tuple(name for name in every if name not in names)
        if merged:
            yield Note("dropped", f"another chunk of the same {self.by} stands for it", merged)
        lone = {name for found in groups.values() for kind, name in found if kind == "id"}
        if lone:
            yield Note("info", f"{len(lone)} of {len(every)} candidates have no {self.by}; each stands for itself")


def _spelt(value: object) -> str:
    """A value as every source spells it: 7 here may be 7.0 in a table's column of numbers, and "7" in a report."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _grouped(
    rankings: Mapping[str, Ranking], groups: Mapping[str, list[Group]], snapshot: Snapshot
) -> dict[str, Ranking]:
    firsts = {leg: _firsts(names) for leg, names in groups.items()}
    seats: dict[Group, Seat] = {}
    for leg, found in rankings.items():
        for group, place in firsts[leg].items():
            seat = (int(found.priority[place]), leg, place)
            seats[group] = min(seat, seats.get(group, seat))
    rows = {leg: rows_of(found, snapshot) for leg, found in rankings.items()}
    return {leg: _kept(leg, rankings, firsts[leg], seats, rows) for leg in rankings}


def _kept(
    leg: str,
    rankings: Mapping[str, Ranking],
    firsts: Mapping[Group, int],
    seats: Mapping[Group, Seat],
    rows: Mapping[str, Rows],
) -> Ranking:
    """One leg's groups in their order, each under its one name."""
    found = rankings[leg]
    if not firsts:
        return found
    first = [seats[group] for group in firsts]
    own = found.take(np.array(list(firsts.values()), np.intp))
    renamed = replace(
        own,
        ids=np.array([rankings[other].ids[place] for _, other, place in first], np.str_),
        rows=np.array([rows[other][place] for _, other, place in first], np.int64),
    )
    return as_source(renamed, int(found.priority.min()))


def _firsts(groups: Iterable[Group]) -> dict[Group, int]:
    """group → the place of its first member, groups in the order they are met."""
    firsts: dict[Group, int] = {}
    for place, group in enumerate(groups):
        firsts.setdefault(group, place)
    return firsts
