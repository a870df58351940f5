"""Chunks from elsewhere, laid beside a snapshot: steps, explanations and answers read them like any other.

A source hands over what it found as `SourceResult`: a ranking, and the chunks behind it. The engine lays those that the
snapshot does not hold beside it. Their rows count from 2**40, so they never meet a row of the snapshot's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace

import numpy as np

from assay.engine.chunk_columns import ChunkColumns, number_of
from assay.engine.order import first_kept
from assay.engine.snapshot_proxy import SnapshotProxy
from assay.errors import LawBroken
from assay.protocols import Found, Snapshot, Walk
from assay.types import Chunk, Floats, Ids, Note, Part, Query, Ranking, Rows, Vectors
from assay.where import Mask, Value, compare_values, parse

FIRST_FOREIGN_ROW = 1 << 40


@dataclass(frozen=True, slots=True, eq=False)
class SourceResult(Ranking):
    """What a source found. Chunks may be bare (an id and a document) where the source shows no more."""

    chunks: tuple[Chunk, ...] = ()


def source_result(ranking: Ranking, chunks: Iterable[Chunk]) -> SourceResult:
    own = {field.name: getattr(ranking, field.name) for field in fields(Ranking)}
    return SourceResult(**own, chunks=tuple(chunks))


class ExtendedSnapshot(SnapshotProxy):
    """The snapshot `inner` with further chunks. Look-ups search `inner` alone: only legs find, and these were found."""

    def __init__(self, inner: Snapshot, chunks: Iterable[Chunk]) -> None:
        held: dict[str, Chunk] = dict(inner._chunks) if isinstance(inner, ExtendedSnapshot) else {}
        super().__init__(inner.inner if isinstance(inner, ExtendedSnapshot) else inner)
        for chunk in chunks:
            held.setdefault(chunk.id, chunk)
        names = np.array(list(held), np.str_)
        strange = self.inner.rows(names) < 0 if len(names) else np.empty(0, np.bool_)
        self._chunks: Mapping[str, Chunk] = {name: held[name] for name in names[strange].tolist()}
        self._order = list(self._chunks.values())
        self._places = {name: FIRST_FOREIGN_ROW + place for place, name in enumerate(self._chunks)}

    def lexical_at(self, query: Query, rows: Rows) -> Found:
        """Nothing for what was brought: its words were never counted here."""
        own = rows < FIRST_FOREIGN_ROW
        found = super().lexical_at(query, rows[own])
        columns = [np.zeros(len(rows)) for _ in found.parts]
        for column, part in zip(columns, found.parts, strict=True):
            column[own] = part.column
        parts = tuple(Part(part.name, part.op, c) for part, c in zip(found.parts, columns, strict=True))
        return Found(rows, parts, found.ideal, found.notes)

    def related(self, query: Query, k: int, walk: Walk) -> Found:
        return super().related(query, k, replace(walk, seeds=walk.seeds[walk.seeds < FIRST_FOREIGN_ROW]))

    def rows(self, ids: Ids) -> Rows:
        known = self.inner.rows(ids)
        for place in np.flatnonzero(known < 0).tolist():
            known[place] = self._places.get(str(ids[place]), -1)
        return known

    def ids(self, rows: Rows) -> Ids:
        own = rows < FIRST_FOREIGN_ROW
        names = np.empty(len(rows), object)
        names[own] = self.inner.ids(rows[own])
        names[~own] = [chunk.id for chunk in self._strangers(rows[~own])]
        return names.astype(np.str_)

    def chunks(self, rows: Rows) -> list[Chunk]:
        own = rows < FIRST_FOREIGN_ROW
        ours, theirs = iter(self.inner.chunks(rows[own])), iter(self._strangers(rows[~own]))
        return [next(ours) if is_own else next(theirs) for is_own in own.tolist()]

    def vectors(self, rows: Rows) -> Vectors:
        """Zero rows for what was brought: its vectors, if it has any, are another model's."""
        own = rows < FIRST_FOREIGN_ROW
        known = self.inner.vectors(rows[own])
        every = np.zeros((len(rows), known.shape[1]), np.float32)
        every[own] = known
        return every

    def numbers(self, name: str, rows: Rows) -> Floats:
        own = rows < FIRST_FOREIGN_ROW
        column = np.full(len(rows), np.nan)
        column[own] = self.inner.numbers(name, rows[own])
        column[~own] = [number_of(chunk, name) for chunk in self._strangers(rows[~own])]
        return column

    def matches(self, expression: str, rows: Rows) -> Mask:
        own = rows < FIRST_FOREIGN_ROW
        column = np.zeros(len(rows), np.bool_)
        column[own] = self.inner.matches(expression, rows[own])
        if not own.all():
            column[~own] = parse(expression).mask(_Facts(self._strangers(rows[~own])))
        return column

    def _strangers(self, rows: Rows) -> list[Chunk]:
        return [self._order[row - FIRST_FOREIGN_ROW] for row in rows.tolist()]


class _Facts:
    """What a filter sees of chunks from elsewhere. A field they lack is no typing slip: it just does not hold."""

    def __init__(self, chunks: list[Chunk]) -> None:
        self._columns, self._size = ChunkColumns(), len(chunks)
        for place, chunk in enumerate(chunks):
            self._columns.add(place, chunk)

    def compare(self, field: str, op: str, value: Value) -> Mask:
        return self._columns.compare(field, op, value, self._size)

    def missing(self, field: str) -> Mask:
        return self._columns.missing(field, self._size)


def base_snapshot(view: Snapshot) -> Snapshot:
    """The snapshot of this store, without what was laid beside it."""
    return view.inner if isinstance(view, ExtendedSnapshot) else view


def attach(view: Snapshot, found: SourceResult, query: Query | None = None) -> tuple[Snapshot, Ranking]:
    """The view with what was brought beside it, and the ranking with its rows in that view.

    A source may name a chunk of this store, whose text is then shown from here: it must pass the query's filter, scope
    and moment here, whatever the source thinks of it.
    """
    wider = ExtendedSnapshot(view, found.chunks)
    rows = wider.rows(found.ids)
    if (rows < 0).any():
        raise LawBroken("a source brought an id without its chunk")
    own = {field.name: getattr(found, field.name) for field in fields(Ranking)}
    ranking = first_kept(Ranking(**{**own, "rows": rows}))
    return wider, ranking if query is None else _permitted(wider, ranking, query)


def _permitted(view: Snapshot, found: Ranking, query: Query) -> Ranking:
    """Without the store's own chunks that this query may not see."""
    ours = np.flatnonzero(np.asarray(found.rows) < FIRST_FOREIGN_ROW)
    if not len(ours) or (query.where, query.scope, query.at) == (None, None, None):
        return found
    rows = np.asarray(found.rows)[ours]
    seen = np.ones(len(rows), np.bool_)
    if query.where is not None:
        seen &= view.matches(str(query.where), rows)
    if query.scope is not None:
        seen &= [compare_values(chunk.meta.get("scope"), "=", query.scope) for chunk in view.chunks(rows)]
    if query.at is not None:
        seen &= ~(view.numbers("created", rows) > query.at)
    hidden = ours[~seen]
    if not len(hidden):
        return found
    note = Note("dropped", "chunks of this store that the question may not see", tuple(found.ids[hidden].tolist()))
    return found.take(np.setdiff1d(np.arange(len(found)), hidden)).noted(note)
