"""One version of a store as SQL conditions and statistics, shared by all look-ups.

Every statement names the version, never "now": another process may write between two statements of one search.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from assay.backend.postgres.filters import OWN_KINDS, Condition, compile_filter, is_storable
from assay.backend.postgres.store import PostgresStore
from assay.backend.shared.filter_cache import FilterCache
from assay.index.similarity import Bm25Similarity, idf
from assay.types import Floats, Query, Rows
from assay.where import Filter

_MAX_CACHED = 200_000
MAX_ROWS_BY_SEQ = 20_000
"""Rows that a filter may keep to be sent by name."""
_CURRENT_HOLDING = """
SELECT term, number, holding, (SELECT max(number) FROM version) FROM term WHERE term = ANY(%s)
"""
_COUNT_HOLDING = """
SELECT n, count(*) FROM unnest(%s::int[]) AS n JOIN chunk c ON c.terms OPERATOR(pg_catalog.@>) ARRAY[n]
WHERE {alive} GROUP BY n
"""


class IdCache:
    """Caches ids by row. A row never changes its id, so all snapshots of a store share one cache."""

    def __init__(self) -> None:
        self._known: dict[int, str] = {}
        self._lock = threading.Lock()

    def add(self, pairs: Sequence[tuple[int, str]]) -> None:
        with self._lock:
            if len(self._known) > _MAX_CACHED:
                self._known.clear()
            self._known.update(pairs)

    def of(self, rows: Sequence[int], ask: Callable[[list[int]], list[tuple[int, str]]]) -> list[str]:
        """The ids of rows; unknown ones are read."""
        known = {row: self._known.get(row) for row in rows}
        unknown = [row for row, name in known.items() if name is None]
        if unknown:
            found = dict(ask(unknown))
            self.add(list(found.items()))
            known.update(found)
        return [known[row] or "" for row in rows]


@dataclass
class VersionView:
    """Conditions and statistics of one version."""

    store: PostgresStore
    version: int
    names: IdCache
    textsearch: bool = False
    """Does pg_textsearch have an index here?"""
    part: Condition | None = None
    """The rows of which this is a view, if it is not the whole store."""
    _conditions: FilterCache[Condition] = field(default_factory=FilterCache)
    _holding: dict[str, tuple[int, int]] = field(default_factory=dict)
    """term → (its number, -1 where it has none; live chunks that hold it)"""

    def read(
        self, statement: str, given: Sequence[Any] | Mapping[str, Any] = (), binary: bool = False
    ) -> list[tuple[Any, ...]]:
        return self.store.read(lambda db: db.execute(statement, given, binary=binary).fetchall())

    def within(self, where: Filter) -> VersionView:
        """This view as if the store held only the rows that a filter keeps."""
        part = self._materialise(self.visible(where, None, None))
        return replace(self, part=part, textsearch=False, _conditions=FilterCache(), _holding={})

    @property
    def alive(self) -> Condition:
        if self.part is not None:
            return self.part
        return Condition("(c.born <= %s AND (c.died IS NULL OR c.died > %s))", (self.version, self.version), False)

    @cached_property
    def totals(self) -> tuple[int, int]:
        """Live chunks and the sum of their lengths in terms."""
        row = self.read("SELECT chunks, length FROM version WHERE number = %s", (self.version,))
        if self.part is None and row and row[0][0] is not None and row[0][1] is not None:
            return row[0][0], row[0][1]
        alive = self.alive
        counted = self.read(
            f"SELECT count(*), coalesce(sum(length), 0)::bigint FROM chunk c WHERE {alive.sql}", alive.parameters
        )
        return counted[0][0], counted[0][1]

    @property
    def size(self) -> int:
        return self.totals[0]

    @cached_property
    def similarity(self) -> Bm25Similarity:
        return Bm25Similarity.from_settings(self.store.settings)

    @property
    def average(self) -> float:
        """Mean length of a live chunk in terms; 1 for an empty store."""
        chunks, length = self.totals
        return length / chunks if chunks and length else 1.0

    @cached_property
    def kinds(self) -> dict[str, set[str]]:
        """Every filterable field with the types of its values."""
        kinds = {name: {kind} for name, kind in OWN_KINDS.items()}
        for name, kind in self.read("SELECT name, kind FROM field ORDER BY name, kind"):
            kinds.setdefault(name, set()).add(kind)
        return kinds

    def visible(self, where: Filter | None, at: float | None, scope: str | None) -> Condition:
        """Live rows that a query may see, as a condition over `chunk c`."""
        from psycopg.types.json import Jsonb

        if where is None and at is None and scope is None:
            return self.alive
        parts = [self.alive]
        if where is not None:
            parts.append(compile_filter(where, self.kinds))
        if at is not None:
            parts.append(Condition("coalesce(c.created <= %s, true)", (at,)))  # undated chunks are never hidden
        if scope is not None:
            known = Condition("c.fields @> %s", (Jsonb({"scope": [scope]}),))
            parts.append(known if is_storable(scope) else Condition("false"))
        return Condition(" AND ".join(f"({p.sql})" for p in parts), tuple(v for p in parts for v in p.parameters))

    def visible_to(self, query: Query) -> Condition:
        """The condition of rows a query may see. Where few rows meet it they are read once and named by seq: all legs
        of a query then share one scan, and the next query with the same filter needs none."""
        at = self.moment(query)
        if query.where is None and at is None and query.scope is None:
            return self.alive
        return self._conditions.get(
            query.where, at, query.scope, lambda: self._materialise(self.visible(query.where, at, query.scope))
        )

    def moment(self, query: Query) -> float | None:
        """A moment that hides nothing is none: most questions are as of now, and every now is another."""
        return None if query.at is not None and query.at >= self.newest else query.at

    def visible_rows(self, query: Query) -> Rows | None:
        """The rows that a query may see; None when these are all that live."""
        seen = self.visible_to(query)
        if not seen.narrows:
            return None
        if seen.rows is not None:
            return np.array(seen.parameters[0], np.int64)
        packed = self.read(
            f"SELECT string_agg(int8send(c.seq), '') FROM chunk c WHERE {seen.sql}", seen.parameters, binary=True
        )[0][0]
        return np.frombuffer(packed or b"", ">i8").astype(np.int64)

    def ids(self, rows: list[int]) -> list[str]:
        return self.names.of(rows, self._read_ids)

    def _read_ids(self, rows: list[int]) -> list[tuple[int, str]]:
        return [(row[0], row[1]) for row in self.read("SELECT seq, id FROM chunk WHERE seq = ANY(%s)", (rows,))]

    @cached_property
    def newest(self) -> float:
        """No row was created later; -inf when none is dated."""
        found = self.read("SELECT max(created) FROM chunk")[0][0]
        return -math.inf if found is None else float(found)

    def _materialise(self, seen: Condition) -> Condition:
        """The rows that meet a condition by name, or the condition itself where they are many."""
        found = self.read(
            f"SELECT c.seq FROM chunk c WHERE {seen.sql} LIMIT %s", (*seen.parameters, MAX_ROWS_BY_SEQ + 1), binary=True
        )
        if len(found) > MAX_ROWS_BY_SEQ:
            return seen
        return Condition("c.seq = ANY(%s)", ([row[0] for row in found],), rows=len(found))

    # -- words

    def holding(self, terms: Sequence[str]) -> list[tuple[int, int]]:
        """Each term's number (-1: in no chunk, ever) and how many live chunks hold it."""
        unknown = [term for term in dict.fromkeys(terms) if term not in self._holding]
        if unknown:
            self._holding.update(self._look_up(unknown))
        return [self._holding[term] for term in terms]

    def _look_up(self, terms: list[str]) -> dict[str, tuple[int, int]]:
        found = self.read(_CURRENT_HOLDING, (terms,))
        known = {term: (number, holding) for term, number, holding, _ in found}
        # The counts are of the whole store at its newest version; others are counted by hand.
        if self.part is not None or any(newest != self.version for *_, newest in found):
            numbers, alive = [number for number, _ in known.values()], self.alive
            counted = dict(self.read(_COUNT_HOLDING.format(alive=alive.sql), (numbers, *alive.parameters)))
            known = {term: (number, counted.get(number, 0)) for term, (number, _) in known.items()}
        return {term: known.get(term, (-1, 0)) for term in terms}

    def idf(self, terms: Sequence[str]) -> Floats:
        """idf of each term in this version."""
        return idf(np.array([n for _, n in self.holding(terms)], np.float64), float(self.size))
