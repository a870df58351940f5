"""Chunks of external sources, attached to a snapshot: steps, explanations and answers read them like its own.

A source returns a `SourceResult`: a ranking and its chunks. The engine attaches the chunks that the snapshot does not
hold. Their rows count from 2**40, so they never equal a row of the snapshot.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from assay.engine.chunk_cache import ChunkCache
from assay.engine.chunk_columns import ChunkColumns, number_of
from assay.engine.order import deduplicate
from assay.engine.snapshot_proxy import SnapshotProxy
from assay.engine.term_hits import TermHits, number_documents
from assay.errors import LawBroken
from assay.protocols import DEFAULT_WEIGHTING, Matches, Snapshot, TermWeighting, WalkSettings
from assay.types import Chunk, Floats, Ids, Note, Part, Query, Ranking, Rows, Vectors
from assay.where import Mask, Value, compare_values, parse

FIRST_FOREIGN_ROW = 1 << 40


@dataclass(frozen=True, slots=True, eq=False)
class SourceResult(Ranking):
    """The ranking of a source with its chunks. A chunk may be bare (an id and a document) if the source gives no
    more."""

    chunks: tuple[Chunk, ...] = ()


def source_result(ranking: Ranking, chunks: Iterable[Chunk]) -> SourceResult:
    """A source's ranking together with the chunks behind it."""
    own = {field.name: getattr(ranking, field.name) for field in fields(Ranking)}
    return SourceResult(**own, chunks=tuple(chunks))


class ExtendedSnapshot(SnapshotProxy):
    """The snapshot `inner` with foreign chunks. Look-ups search `inner` alone."""

    def __init__(self, inner: Snapshot, chunks: Iterable[Chunk]) -> None:
        chunks_by_id: dict[str, Chunk] = dict(inner._chunks) if isinstance(inner, ExtendedSnapshot) else {}
        super().__init__(inner.inner if isinstance(inner, ExtendedSnapshot) else inner)
        for chunk in chunks:
            chunks_by_id.setdefault(chunk.id, chunk)
        names = np.array(list(chunks_by_id), np.str_)
        foreign = self.inner.rows(names) < 0 if len(names) else np.empty(0, np.bool_)
        self._chunks: Mapping[str, Chunk] = {name: chunks_by_id[name] for name in names[foreign].tolist()}
        self._order = list(self._chunks.values())
        self._places = {name: FIRST_FOREIGN_ROW + place for place, name in enumerate(self._chunks)}

    def lexical_at(self, query: Query, rows: Rows, weighting: TermWeighting = DEFAULT_WEIGHTING) -> Matches:
        """Zero for foreign chunks: their words are not in this index."""
        own = rows < FIRST_FOREIGN_ROW
        matches = super().lexical_at(query, rows[own], weighting)
        columns = [np.zeros(len(rows)) for _ in matches.parts]
        for column, part in zip(columns, matches.parts, strict=True):
            column[own] = part.column
        parts = tuple(Part(part.name, part.op, c) for part, c in zip(matches.parts, columns, strict=True))
        return Matches(rows, parts, matches.ideal, matches.notes)

    def related(self, query: Query, k: int, walk: WalkSettings) -> Matches:
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
        names[~own] = [chunk.id for chunk in self._foreign(rows[~own])]
        return names.astype(np.str_)

    def chunks(self, rows: Rows) -> list[Chunk]:
        own = rows < FIRST_FOREIGN_ROW
        own_chunks, foreign = iter(self.inner.chunks(rows[own])), iter(self._foreign(rows[~own]))
        return [next(own_chunks) if is_own else next(foreign) for is_own in own.tolist()]

    def vectors(self, rows: Rows) -> Vectors:
        """Zero rows for foreign chunks: their vectors, if any, are of another model."""
        own = rows < FIRST_FOREIGN_ROW
        known = self.inner.vectors(rows[own])
        every = np.zeros((len(rows), known.shape[1]), np.float32)
        every[own] = known
        return every

    def find_terms(self, rows: Rows, terms: Sequence[str]) -> TermHits:
        own = rows < FIRST_FOREIGN_ROW
        foreign = (self.terms(chunk.indexed_text) for chunk in self._foreign(rows[~own]))
        hits = [super().find_terms(rows[own], terms), TermHits.of_texts(foreign, terms)]
        return TermHits.join(list(zip((np.flatnonzero(own), np.flatnonzero(~own)), hits, strict=True)))

    def documents(self, rows: Rows) -> Rows:
        """Equal numbers for chunks of one document; a foreign chunk may be of a document of the store."""
        if bool((rows < FIRST_FOREIGN_ROW).all()):
            return super().documents(rows)
        return number_documents(self.chunks(rows))

    def numbers(self, name: str, rows: Rows) -> Floats:
        own = rows < FIRST_FOREIGN_ROW
        column = np.full(len(rows), np.nan)
        column[own] = self.inner.numbers(name, rows[own])
        column[~own] = [number_of(chunk, name) for chunk in self._foreign(rows[~own])]
        return column

    def matches(self, expression: str, rows: Rows) -> Mask:
        own = rows < FIRST_FOREIGN_ROW
        column = np.zeros(len(rows), np.bool_)
        column[own] = self.inner.matches(expression, rows[own])
        if not own.all():
            column[~own] = parse(expression).mask(_ForeignColumns(self._foreign(rows[~own])))
        return column

    def _foreign(self, rows: Rows) -> list[Chunk]:
        return [self._order[row - FIRST_FOREIGN_ROW] for row in rows.tolist()]


class _ForeignColumns:
    """What a filter sees of foreign chunks. A field they lack is no error: the condition is false."""

    def __init__(self, chunks: list[Chunk]) -> None:
        self._columns, self._size = ChunkColumns(), len(chunks)
        for place, chunk in enumerate(chunks):
            self._columns.add(place, chunk)

    def compare(self, field: str, op: str, value: Value) -> Mask:
        return self._columns.compare(field, op, value, self._size)

    def missing(self, field: str) -> Mask:
        return self._columns.missing(field, self._size)


def base_snapshot(view: Snapshot) -> Snapshot:
    """The snapshot of this store, without foreign chunks and without the cache of a query."""
    while isinstance(view, ExtendedSnapshot | ChunkCache):
        view = view.inner
    return view


def attach(view: Snapshot, result: SourceResult, query: Query | None = None) -> tuple[Snapshot, Ranking]:
    """The view extended by the source's chunks, and the ranking with its rows in that view.

    A source may name a chunk of this store, whose text is then read here: it must pass the query's filter, scope and
    moment, whatever the source applied.
    """
    wider = ExtendedSnapshot(view, result.chunks)
    rows = wider.rows(result.ids)
    if (rows < 0).any():
        raise LawBroken("a source brought an id without its chunk")
    own = {field.name: getattr(result, field.name) for field in fields(Ranking)}
    ranking = deduplicate(Ranking(**{**own, "rows": rows}))
    return wider, ranking if query is None else _drop_hidden(wider, ranking, query)


def _drop_hidden(view: Snapshot, ranking: Ranking, query: Query) -> Ranking:
    """The ranking without the store's own chunks that the query's filter, scope or moment hides."""
    own = np.flatnonzero(np.asarray(ranking.rows) < FIRST_FOREIGN_ROW)
    if not len(own) or (query.where, query.scope, query.at) == (None, None, None):
        return ranking
    rows = np.asarray(ranking.rows)[own]
    visible = np.ones(len(rows), np.bool_)
    if query.where is not None:
        visible &= view.matches(str(query.where), rows)
    if query.scope is not None:
        visible &= [compare_values(chunk.meta.get("scope"), "=", query.scope) for chunk in view.chunks(rows)]
    if query.at is not None:
        visible &= ~(view.numbers("created", rows) > query.at)
    hidden = own[~visible]
    if not len(hidden):
        return ranking
    note = Note("dropped", "chunks of this store that the question may not see", tuple(ranking.ids[hidden].tolist()))
    return ranking.take(np.setdiff1d(np.arange(len(ranking)), hidden)).noted(note)
