"""Grouped fusion: one candidate for each session, document or other field value, instead of one per chunk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from assay.engine.facts import chunks_of, rows_of
from assay.engine.order import stamp_ranks
from assay.errors import ConfigError
from assay.protocols import Fuser, Snapshot
from assay.types import Chunk, Note, Query, Range, Ranking, Rows

Group = tuple[str, str]
"""("value", the field's value), or ("id", the chunk's id) for a chunk without one."""
Occurrence = tuple[int, str, int]
"""(priority, leg, place): where a group occurs first."""


@dataclass(frozen=True, slots=True)
class Grouped:
    """Runs the fuser `inner` over groups instead of chunks: the router policy's deduplication by session_id.

    A group is one value of the field `by`: doc_id, or a metadata field. Each leg keeps the first chunk of each group
    and counts its ranks again. All legs use one id for a group, that of its first chunk by (priority, leg, rank), so
    ranks and scores of a group add up whichever of its chunks a leg found. A chunk without a value is a group of its
    own; a note says how many there were.
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
        merged = _merge_groups(rankings, groups, snapshot)
        return self.inner.fuse(query, merged, snapshot).noted(*self._notes(rankings, groups, merged))

    def group_candidates(self, rankings: Mapping[str, Ranking], snapshot: Snapshot) -> Mapping[str, Ranking]:
        """The candidates that are fused: one per group, with the same id in every leg."""
        return _merge_groups(rankings, self._groups(rankings, snapshot), snapshot)

    def _groups(self, rankings: Mapping[str, Ranking], snapshot: Snapshot) -> dict[str, list[Group]]:
        """The group of every candidate, leg by leg."""
        return {
            leg: [
                ("value", _normalise_value(value)) if (value := self._value(chunk)) not in (None, "") else ("id", name)
                for name, chunk in zip(ranking.ids.tolist(), chunks_of(ranking, snapshot), strict=True)
            ]
            for leg, ranking in rankings.items()
        }

    def _value(self, chunk: Chunk | None) -> object:
        if chunk is None:
            return None
        return chunk.doc_id if self.by == "doc_id" else chunk.meta.get(self.by)

    def _notes(
        self,
        rankings: Mapping[str, Ranking],
        groups: Mapping[str, list[Group]],
        merged: Mapping[str, Ranking],
    ) -> Iterable[Note]:
        names = {name for ranking in merged.values() for name in ranking.ids.tolist()}
        candidates = dict.fromkeys(name for leg in sorted(rankings) for name in rankings[leg].ids.tolist())
        absorbed = tuple(name for name in candidates if name not in names)
        if absorbed:
            yield Note("dropped", f"another chunk of the same {self.by} stands for it", absorbed)
        single = {name for leg_groups in groups.values() for kind, name in leg_groups if kind == "id"}
        if single:
            text = f"{len(single)} of {len(candidates)} candidates have no {self.by}; each stands for itself"
            yield Note("info", text)


def _normalise_value(value: object) -> str:
    """One spelling for equal values: 7 can be 7.0 in a numeric table column and "7" in a report."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _merge_groups(
    rankings: Mapping[str, Ranking], groups: Mapping[str, list[Group]], snapshot: Snapshot
) -> dict[str, Ranking]:
    first_places = {leg: _first_places(names) for leg, names in groups.items()}
    occurrences: dict[Group, Occurrence] = {}
    for leg, ranking in rankings.items():
        for group, place in first_places[leg].items():
            occurrence = (int(ranking.priority[place]), leg, place)
            occurrences[group] = min(occurrence, occurrences.get(group, occurrence))
    rows = {leg: rows_of(ranking, snapshot) for leg, ranking in rankings.items()}
    return {leg: _select_groups(leg, rankings, first_places[leg], occurrences, rows) for leg in rankings}


def _select_groups(
    leg: str,
    rankings: Mapping[str, Ranking],
    first_places: Mapping[Group, int],
    occurrences: Mapping[Group, Occurrence],
    rows: Mapping[str, Rows],
) -> Ranking:
    """One leg's groups in their order, each under its common id."""
    ranking = rankings[leg]
    if not first_places:
        return ranking
    origins = [occurrences[group] for group in first_places]
    selected = ranking.take(np.array(list(first_places.values()), np.intp))
    renamed = replace(
        selected,
        ids=np.array([rankings[other].ids[place] for _, other, place in origins], np.str_),
        rows=np.array([rows[other][place] for _, other, place in origins], np.int64),
    )
    return stamp_ranks(renamed, int(ranking.priority.min()))


def _first_places(groups: Iterable[Group]) -> dict[Group, int]:
    """group → the place of its first member, in order of occurrence."""
    first_places: dict[Group, int] = {}
    for place, group in enumerate(groups):
        first_places.setdefault(group, place)
    return first_places
