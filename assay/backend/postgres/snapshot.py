"""One version of a PostgreSQL store as an immutable view. A row is a chunk's `seq`, which never changes its meaning."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from assay.backend.contract import NO_TREE
from assay.backend.postgres import bm25 as lexical
from assay.backend.postgres import vectors
from assay.backend.postgres.filters import Condition, is_storable
from assay.backend.postgres.graph_build import OUTDATED
from assay.backend.postgres.graph_cache import GraphCache
from assay.backend.postgres.graph_walk import GraphWalk
from assay.backend.postgres.hnsw import INDEX_FROM
from assay.backend.postgres.version_view import VersionView
from assay.backend.shared.exact_match import MOST_KEYS, filter_exact, rank_by_keys
from assay.backend.shared.filter_cache import FilterCache
from assay.backend.shared.query_terms import QueryTerms
from assay.backend.shared.snapshot_copy import copy_without_cache
from assay.backend.shared.top_k import require_query_vector, top_k
from assay.engine.chunk_columns import NUMBERS, as_number
from assay.errors import Reason, StoreError
from assay.protocols import DEFAULT_WEIGHTING, Matches, TermWeighting, WalkSettings
from assay.text.analyser import Analyser
from assay.text.entities import find_spelling
from assay.text.highlight import find_excerpt
from assay.text.identifiers import extract_identifiers
from assay.types import Chunk, Excerpt, Floats, Ids, Note, Part, Query, Rows, Vectors
from assay.where import Compare, Filter, Mask, parse


class PostgresSnapshot:
    """Implements `contract.StoreSnapshot` over a schema's tables."""

    all_first = True
    """A query looks at the chunks that hold all of its terms before the others."""

    def __init__(
        self,
        view: VersionView,
        no_vectors: Reason,
        graphs: GraphCache,
        *,
        base: int | None = None,
        index: str = "",
        index_from: int = INDEX_FROM,
    ) -> None:
        self._view = view
        self._graphs, self._base = graphs, base
        self._settings = view.store.settings
        self._no_vectors = no_vectors
        self._index, self._index_from = index, index_from
        self.version = view.version
        self.analyser: Analyser = view.store.analyser
        self._dim: int = self._settings["dim"]
        self._parts: FilterCache[PostgresSnapshot] = FilterCache()
        self._whole: tuple[str, Filter] | None = None

    @cached_property
    def digest(self) -> str:
        """Covers store, version, analyser, model, the version whose statistics walks go by, and the vectors' index,
        whose graph is not canonical."""
        if self._whole is not None:
            return hashlib.sha256("|within ".join(map(str, self._whole)).encode()).hexdigest()
        made = (self.analyser.digest, self._settings["model"], self._index, self._base)
        return hashlib.sha256(
            json.dumps((self._settings["store"], self.version, *made, *self._view.similarity.settings.items())).encode()
        ).hexdigest()

    @property
    def capabilities(self) -> frozenset[str]:
        more = (*(("dense",) if self._dim else ()), *(() if self._no_graph else ("graph",)))
        return frozenset({"lexical", "exact", *more})

    def lacks(self, capability: str) -> Reason | None:
        if capability in self.capabilities:
            return None
        if capability in ("graph", "tree"):
            return self._no_graph if capability == "graph" else NO_TREE
        return self._no_vectors if capability == "dense" else Reason(f"this store cannot do {capability!r}")

    @property
    def _no_graph(self) -> Reason | None:
        """Why there is no graph here; "" when there is."""
        return self._view.store.no_graph or (None if self._is_current else OUTDATED)

    @property
    def _is_current(self) -> bool:
        """Did this analyser read the words?"""
        return bool(self._settings["analyser"] == self.analyser.digest)

    @property
    def size(self) -> int:
        return self._view.size

    # -- finding

    @cached_property
    def _outdated(self) -> tuple[Note, ...]:
        """A note on every answer until it is cured: terms of another analyser may not match."""
        if self._is_current:
            return ()
        return (Note("degraded", OUTDATED.text, cure=OUTDATED.cure),)

    def lexical(self, query: Query, k: int, weighting: TermWeighting = DEFAULT_WEIGHTING) -> Matches:
        weighted, notes = self._query_terms(query, weighting)
        terms = weighted.terms
        if not terms or not self.size:
            return Matches(np.empty(0, np.int64), (), ideal=0.0, notes=notes)
        scored, served = lexical.search(
            self._view, lexical.TermLookup.read(self._view, weighted, self._view.visible_to(query)), k
        )
        parts = tuple(Part(t, "add", line) for t, line in zip(terms, scored.contributions, strict=True))
        return Matches(scored.rows, parts, scored.ideal, (*notes, served))

    def lexical_at(self, query: Query, rows: Rows, weighting: TermWeighting = DEFAULT_WEIGHTING) -> Matches:
        weighted, notes = self._query_terms(query, weighting)
        terms = weighted.terms
        if not terms or not self.size:
            return Matches(rows, (), ideal=0.0, notes=notes)
        scored = lexical.score_rows(self._view, lexical.TermLookup.read(self._view, weighted, self._view.alive), rows)
        parts = tuple(Part(t, "add", line) for t, line in zip(terms, scored.contributions, strict=True))
        return Matches(rows, parts, scored.ideal, notes)

    def _query_terms(self, query: Query, weighting: TermWeighting) -> tuple[QueryTerms, tuple[Note, ...]]:
        """The terms of a query; of a very long one, its heaviest."""
        terms = QueryTerms.analyse(self.analyser, query.text, weighting)
        places, notes = terms.select_heaviest(lambda: self._view.idf(terms.terms))
        return terms.take(places) if notes else terms, (*self._outdated, *notes)

    def nearest(self, query: Query, k: int) -> Matches:
        vector = require_query_vector(query, self._dim, self._no_vectors)
        near = vectors.NearestRows(self._settings["vectors"], self._dim, vector, k, self._view.visible_to(query))
        rows, scores, served = vectors.nearest(self._view, near, self._index_from if self._index else None)
        if not len(rows) and self.size and not near.seen.narrows:
            served = Note("degraded", "no chunk has a vector", cure="assay reembed")
        place = self._top_k(rows, scores, k)
        return Matches(rows[place], (Part("cosine", "add", scores[place]),), ideal=1.0, notes=(served,))

    def exact(self, query: Query, k: int) -> Matches:
        """Chunks that hold the query's identifiers and quoted phrases letter for letter.

        Each key weighs its rarest term's idf; a chunk scores the weight of the keys it holds over that of all.
        """
        seen = self._view.visible_to(query)
        found: list[tuple[str, float, Rows]] = []
        for key in extract_identifiers(query.text)[:MOST_KEYS]:
            terms = sorted(set(self.analyser.terms(key)))
            if terms:
                found.append((key, float(self._view.idf(terms).max()), self._holding(key, terms, seen)))
        return rank_by_keys(found, lambda rows, score: self._top_k(rows, score, k))

    def spelling(self, text: str, key: str) -> str:
        return find_spelling(text, key)

    def related(self, query: Query, k: int, walk: WalkSettings) -> Matches:
        """Rows that a walk over names, identifiers, word pairs and links reaches (see shared/graph_search.py)."""
        if self._no_graph:
            raise self._no_graph.as_error(StoreError)
        return self._graph_walk.search(query, k, walk)

    @cached_property
    def _graph_walk(self) -> GraphWalk:
        return GraphWalk.open(self._view, self._graphs, self._base)

    def _holding(self, key: str, terms: Sequence[str], seen: Condition) -> Rows:
        """Rows that hold every term of a key, and then the key itself."""
        numbers = [number for number, _ in self._view.holding(terms)]
        if -1 in numbers:
            return np.empty(0, np.int64)
        held = lexical.holding_all(numbers)
        parameters = (*held.parameters, *seen.parameters)
        found = self._view.read(f"SELECT c.seq FROM chunk c WHERE {held.sql} AND {seen.sql}", parameters)
        rows = np.array([row[0] for row in found], np.int64)
        return filter_exact(key, rows, self.chunks)

    def _top_k(self, rows: Rows, scores: Floats, k: int) -> Rows:
        return top_k(rows, scores, k, self.ids)

    # -- who may be found

    def kinds(self) -> dict[str, set[str]]:
        return {field: set(found) for field, found in self._view.kinds.items()}

    def within(self, where: Filter) -> PostgresSnapshot:
        """This snapshot as if it held only the rows that a filter keeps: no other row changes a score or a count. A
        walk over the graph sees these rows only, but goes by the statistics of the whole store."""
        return self._parts.get(where, None, None, lambda: self._restrict(where))

    def _restrict(self, where: Filter) -> PostgresSnapshot:
        part = copy_without_cache(self)
        part._view = self._view.within(where)
        part._parts = FilterCache()
        part._whole = (self.digest, where)
        return part

    def matches(self, expression: str, rows: Rows) -> Mask:
        held = self._view.visible(parse(expression), None, None)
        found = self._view.read(
            f"SELECT c.seq FROM chunk c WHERE c.seq = ANY(%s) AND {held.sql}", (rows.tolist(), *held.parameters)
        )
        return np.isin(rows, np.array([row[0] for row in found], np.int64))

    def live_rows(self, where: Filter | None) -> Rows:
        """Every live row, or those a filter keeps, in id order."""
        seen = self._view.visible(where, None, None)
        found = self._view.read(f"SELECT c.seq, c.id FROM chunk c WHERE {seen.sql} ORDER BY c.id", seen.parameters)
        return np.array([row[0] for row in found], np.int64)

    def excerpt(self, text: str, query: str, width: int) -> Excerpt:
        return find_excerpt(text, self.analyser.query_terms(query), self.analyser, width)

    def ids_with_prefix(self, prefix: str, most: int = 20) -> list[str]:
        """Ids of live chunks with this prefix, in order, at most `most`."""
        alive = self._view.alive
        if not is_storable(prefix):
            return []
        found = self._view.read(
            f"SELECT id FROM chunk c WHERE id >= %s AND starts_with(id, %s) AND {alive.sql} ORDER BY id LIMIT %s",
            (prefix, prefix, *alive.parameters, most),
        )
        return [row[0] for row in found]

    @cached_property
    def foreign_share(self) -> float:
        """The share of live chunks known to be in another language than English."""
        if not self.size or "text" not in self._view.kinds.get("lang", ()):
            return 0.0
        seen = self._view.visible(Compare("lang", "!=", "en"), None, None)
        counted = self._view.read(f"SELECT count(*) FROM chunk c WHERE {seen.sql}", seen.parameters)
        return float(counted[0][0] / self.size)

    # -- facts by row

    def rows(self, ids: Ids) -> Rows:
        names, alive = [str(name) for name in ids], self._view.alive
        storable = [name for name in names if is_storable(name)]
        found = self._view.read(
            f"SELECT c.id, c.seq FROM chunk c WHERE c.id = ANY(%s) AND ({alive.sql})", (storable, *alive.parameters)
        )
        row_of = dict(found)
        return np.array([row_of.get(name, -1) for name in names], np.int64)

    def ids(self, rows: Rows) -> Ids:
        return np.array(self._view.ids(rows.tolist()), np.str_)

    def chunks(self, rows: Rows) -> list[Chunk]:
        return [found.chunk for found in self._view.store.rows(rows.tolist())] if len(rows) else []

    def vectors(self, rows: Rows) -> Vectors:
        if not self._dim:
            return np.zeros((len(rows), 1), np.float32)
        return self._view.store.vectors(rows.tolist(), self._dim)

    def numbers(self, name: str, rows: Rows) -> Floats:
        seqs = rows.tolist()
        if name in NUMBERS:
            found = self._view.read(f"SELECT seq, {name}::float8 FROM chunk WHERE seq = ANY(%s)", (seqs,), binary=True)
            known = {seq: np.nan if value is None else value for seq, value in found}
        else:
            found = self._view.read("SELECT seq, fields -> %s FROM chunk WHERE seq = ANY(%s)", (name, seqs))
            known = {seq: _number(values) for seq, values in found}
        return np.array([known.get(row, np.nan) for row in seqs], np.float64)

    def terms(self, text: str) -> list[str]:
        return self.analyser.terms(text)

    def term_weights(self, text: str) -> Mapping[str, float]:
        terms = self.analyser.query_terms(text)
        return dict(zip(terms, self._view.idf(terms).tolist(), strict=True))


def _number(values: list[object] | None) -> float:
    """The first number of a field's values counts."""
    for value in values or ():
        if isinstance(value, int | float) and not isinstance(value, bool):
            return as_number(value)
    return float("nan")
