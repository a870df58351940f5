"""Grouped fusion: one candidate for each session, document or other field value, instead of one per chunk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from assay.engine.facts import chunks_of, rows_of
from assay.engine.order import stamp_ranks
from assay.errors import ConfigError
from assay.protocols import Fuser, Snapshot
from assay.types import Chunk, Note, Query, Range, Ranking, Rows

Key = tuple[str, str]
"""(field, value): what a chunk is grouped by; ("", "") for a chunk that has none of the fields."""
_NO_KEY: Key = ("", "")
Group = tuple[str, str]
"""("value", the field's value), or ("id", the chunk's id) for a chunk without one."""
Occurrence = tuple[int, str, int]
"""(priority, leg, place): where a group occurs first."""


@dataclass(frozen=True, slots=True)
class Grouped:
    """Runs the fuser `inner` over groups instead of chunks: the router policy's deduplication by session_id.

    A group is one value of the field `by`: doc_id, or a metadata field. Of several fields each chunk is grouped by the
    first that it has: ("session_id", "doc_id") are sessions where chunks have one, else documents. A value means the
    same whichever field has it, so a session of one source meets the document of that name in another. Each leg keeps
    the first chunk of each group and counts its ranks again. All legs use one id for a group, that of its first chunk
    by (priority, leg, rank), so ranks and scores of a group add up whichever of its chunks a leg found. A chunk without
    a value is a group of its own. Notes say how many chunks were grouped by a later field, and how many by none.
    """

    inner: Fuser
    by: str | Sequence[str] = "doc_id"

    def __post_init__(self) -> None:
        if isinstance(self.by, list):
            object.__setattr__(self, "by", tuple(self.by))
        fields = self.fields
        if not fields or not all(isinstance(field, str) and field for field in fields):
            raise ConfigError(f"fuse.by = {self.by!r} names no field", "give doc_id, a metadata field, or a list")
        if len(set(fields)) < len(fields):
            raise ConfigError(f"fuse.by = {list(fields)!r} names a field twice", "name each once, the best first")

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of `by`, in the order they are tried."""
        return self.by if isinstance(self.by, tuple) else (cast(str, self.by),)

    @property
    def needs(self) -> frozenset[str]:
        return self.inner.needs

    @property
    def symmetric(self) -> bool:
        return self.inner.symmetric

    def gives(self, legs: Mapping[str, Range]) -> Range:
        return self.inner.gives(legs)

    def fuse(self, query: Query, rankings: Mapping[str, Ranking], snapshot: Snapshot) -> Ranking:
        keys = self._keys(rankings, snapshot)
        merged = _merge_groups(rankings, _groups(rankings, keys), snapshot)
        return self.inner.fuse(query, merged, snapshot).noted(*self._notes(rankings, keys, merged))

    def group_candidates(self, rankings: Mapping[str, Ranking], snapshot: Snapshot) -> Mapping[str, Ranking]:
        """The candidates that are fused: one per group, with the same id in every leg."""
        return _merge_groups(rankings, _groups(rankings, self._keys(rankings, snapshot)), snapshot)

    def count_keys(self, rankings: Mapping[str, Ranking], snapshot: Snapshot) -> dict[str, int]:
        """How many different candidates were grouped by each field; under "" those that have none."""
        fields = {
            name: field
            for leg, keys in self._keys(rankings, snapshot).items()
            for name, (field, _) in zip(rankings[leg].ids.tolist(), keys, strict=True)
        }
        counts = Counter(fields.values())
        return {field: counts[field] for field in (*self.fields, "")}

    def _keys(self, rankings: Mapping[str, Ranking], snapshot: Snapshot) -> dict[str, list[Key]]:
        """The field and value of every candidate, leg by leg."""
        return {leg: [self._key(chunk) for chunk in chunks_of(ranking, snapshot)] for leg, ranking in rankings.items()}

    def _key(self, chunk: Chunk | None) -> Key:
        if chunk is None:
            return _NO_KEY
        for field in self.fields:
            value = chunk.doc_id if field == "doc_id" else chunk.meta.get(field)
            if value not in (None, ""):
                return field, _normalise_value(value)
        return _NO_KEY

    def _notes(
        self, rankings: Mapping[str, Ranking], keys: Mapping[str, list[Key]], merged: Mapping[str, Ranking]
    ) -> Iterable[Note]:
        names = {name for ranking in merged.values() for name in ranking.ids.tolist()}
        candidates = {
            name: field
            for leg in sorted(rankings)
            for name, (field, _) in zip(rankings[leg].ids.tolist(), keys[leg], strict=True)
        }
        absorbed = tuple(name for name in candidates if name not in names)
        if absorbed:
            yield Note("dropped", f"another chunk of the same {' or '.join(self.fields)} stands for it", absorbed)
        best, total, every = self.fields[0], len(candidates), " or ".join(self.fields)
        for field, count in sorted(Counter(candidates.values()).items()):
            if field == "":
                yield Note("info", f"{count} of {total} candidates have no {every}; each stands for itself")
            elif field != best:
                yield Note("info", f"{count} of {total} candidates have no {best}; one stands for each {field}")


def _groups(rankings: Mapping[str, Ranking], keys: Mapping[str, list[Key]]) -> dict[str, list[Group]]:
    """The group of every candidate, leg by leg."""
    return {
        leg: [
            ("value", value) if field else ("id", name)
            for name, (field, value) in zip(ranking.ids.tolist(), keys[leg], strict=True)
        ]
        for leg, ranking in rankings.items()
    }


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
