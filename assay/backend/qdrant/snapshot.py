"""One version of a store whose index is in Qdrant: PostgreSQL's snapshot with another way to find candidates.

Its answers equal those of a store in a folder: any term counts (`all_first` is off), vectors are compared exactly below
10,000 rows or where the settings say so.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.backend.postgres import bm25, vectors
from assay.backend.postgres.snapshot import PostgresSnapshot
from assay.backend.qdrant.reader import IndexReader, MissingIndex
from assay.backend.shared.bm25 import ScoredRows
from assay.backend.shared.top_k import require_query_vector
from assay.protocols import DEFAULT_WEIGHTING, Matches, TermWeighting
from assay.types import Note, Part, Query
from assay.util.qdrant_cluster import IndexUnavailable
from assay.where import Filter


class IndexedSnapshot(PostgresSnapshot):
    """Implements `contract.StoreSnapshot`."""

    all_first = False

    def __init__(self, *given: Any, reader: IndexReader | MissingIndex, **named: Any) -> None:
        super().__init__(*given, **named)
        self._reader = reader

    def _restrict(self, where: Filter) -> IndexedSnapshot:
        part = super()._restrict(where)
        assert isinstance(part, IndexedSnapshot)
        if isinstance(self._reader, IndexReader):
            part._reader = self._reader.restrict(part._view, where)
        return part

    def lexical(self, query: Query, k: int, weighting: TermWeighting = DEFAULT_WEIGHTING) -> Matches:
        weighted, notes = self._query_terms(query, weighting)
        terms = weighted.terms
        if not terms or not self.size:
            return Matches(np.empty(0, np.int64), (), ideal=0.0, notes=notes)
        lookup = bm25.TermLookup.read(self._view, weighted, self._view.visible_to(query))
        scored, served = self._search_words(query, lookup, k)
        parts = tuple(Part(t, "add", line) for t, line in zip(terms, scored.contributions, strict=True))
        return Matches(scored.rows, parts, scored.ideal, (*notes, *served))

    def _search_words(self, query: Query, lookup: bm25.TermLookup, k: int) -> tuple[ScoredRows, tuple[Note, ...]]:
        trouble: tuple[Note, ...] = ()
        if isinstance(self._reader, MissingIndex):
            trouble = (self._reader.note(),)
        elif lookup.known and lookup.seen.rows is None:  # few visible rows are cheaper to read in PostgreSQL
            try:
                found = self._reader.best_terms(query, lookup, k)
            except IndexUnavailable as error:
                trouble = (MissingIndex(error.reason).note(),)
            else:
                if found is not None:
                    return found[0], (found[1],)
        scored, served = bm25.search_any(self._view, lookup, k)
        return scored, (*trouble, served)

    def nearest(self, query: Query, k: int) -> Matches:
        vector = require_query_vector(query, self._dim, self._no_vectors)
        seen = self._view.visible_to(query)
        near = vectors.NearestRows(self._settings["vectors"], self._dim, vector, k, seen)
        trouble: tuple[Note, ...] = ()
        found = None
        if isinstance(self._reader, MissingIndex):
            trouble = (self._reader.note(),)
        elif seen.rows is None and self.size:
            try:
                found = self._reader.nearest(query, near)
            except IndexUnavailable as error:
                trouble = (MissingIndex(error.reason).note(),)
        rows, scores, served = found or vectors.nearest(self._view, near, None)
        if not len(rows) and self.size and not seen.narrows:
            served = Note("degraded", "no chunk has a vector", cure="assay reembed")
        place = self._top_k(rows, scores, k)
        return Matches(rows[place], (Part("cosine", "add", scores[place]),), ideal=1.0, notes=(*trouble, served))
