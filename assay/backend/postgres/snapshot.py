"""One version of a PostgreSQL store as an immutable view. A row is a chunk's `seq`, which never changes its meaning."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from assay.backend.postgres import bm25 as lexical
from assay.backend.postgres import vectors
from assay.backend.postgres.filters import Condition, is_held
from assay.backend.postgres.graph_build import OUTDATED
from assay.backend.postgres.graph_cache import GraphCache
from assay.backend.postgres.graph_walk import GraphWalk
from assay.backend.postgres.hnsw import INDEX_FROM
from assay.backend.postgres.version_view import VersionView
from assay.backend.shared.best_rows import asked_vector, best
from assay.backend.shared.bm25 import MOST_TERMS
from assay.backend.shared.exact_keys import MOST_KEYS, keys_found, letter_for_letter, rarest
from assay.engine.chunk_columns import NUMBERS, as_number
from assay.errors import StoreError
from assay.protocols import Found, Walk
from assay.text.analyse import Analyser, identifiers
from assay.text.entities import as_written
from assay.types import Chunk, Floats, Ids, Note, Part, Query, Rows, Vectors
from assay.where import Compare, Filter, Mask, parse


class PostgresSnapshot:
    """Implements `kept.KeptSnapshot` over a schema's tables."""

    all_first = True
    """A query looks at the chunks that hold all of its terms before the others."""

    def __init__(
        self,
        view: VersionView,
        no_vectors: str,
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

    @cached_property
    def digest(self) -> str:
        """Covers store, version, analyser, model, the version whose statistics walks go by, and the vectors' index,
        whose graph is not canonical."""
        made = (self.analyser.digest, self._settings["model"], self._index, self._base)
        return hashlib.sha256(json.dumps((self._settings["store"], self.version, *made)).encode()).hexdigest()

    @property
    def capabilities(self) -> frozenset[str]:
        more = (*(("dense",) if self._dim else ()), *(() if self._no_graph else ("graph",)))
        return frozenset({"lexical", "exact", *more})

    def lacks(self, capability: str) -> str:
        if capability in self.capabilities:
            return ""
        said = {"dense": self._no_vectors, "graph": self._no_graph}
        return said.get(capability, f"this store cannot do {capability!r}")

    @property
    def _no_graph(self) -> str:
        """Why there is no graph here; "" when there is."""
        return self._view.store.no_graph or ("" if self._is_current else OUTDATED)

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
        """Said with every answer until it is cured: terms of another analyser may not be found."""
        if self._is_current:
            return ()
        return (Note("degraded", "the words were analysed by another version of Assay; cure: assay optimize"),)

    def lexical(self, query: Query, k: int) -> Found:
        terms, notes = self._asked(query)
        if not terms or not self.size:
            return Found(np.empty(0, np.int64), (), ideal=0.0, notes=notes)
        scored, served = lexical.search(
            self._view, lexical.TermLookup.of(self._view, terms, self._view.seen_by(query)), k
        )
        parts = tuple(Part(t, "add", line) for t, line in zip(terms, scored.given, strict=True))
        return Found(scored.rows, parts, scored.ideal, (*notes, served))

    def lexical_at(self, query: Query, rows: Rows) -> Found:
        terms, notes = self._asked(query)
        if not terms or not self.size:
            return Found(rows, (), ideal=0.0, notes=notes)
        scored = lexical.rate(self._view, lexical.TermLookup.of(self._view, terms, self._view.alive), rows)
        parts = tuple(Part(t, "add", line) for t, line in zip(terms, scored.given, strict=True))
        return Found(rows, parts, scored.ideal, notes)

    def _asked(self, query: Query) -> tuple[list[str], tuple[Note, ...]]:
        """The terms of a query; of a very long one, its rarest."""
        terms = self.analyser.query_terms(query.text)
        if len(terms) <= MOST_TERMS:
            return terms, self._outdated
        chosen, said = rarest(terms, self._view.weights(terms))
        return [terms[i] for i in chosen], (*self._outdated, said)

    def nearest(self, query: Query, k: int) -> Found:
        vector = asked_vector(query, self._dim, self._no_vectors)
        near = vectors.NearestRows(self._settings["vectors"], self._dim, vector, k, self._view.seen_by(query))
        rows, scores, served = vectors.nearest(self._view, near, self._index_from if self._index else None)
        if not len(rows) and self.size and not near.seen.narrows:
            served = Note("degraded", "no chunk has a vector; cure: assay reembed")
        place = self._best(rows, scores, k)
        return Found(rows[place], (Part("cosine", "add", scores[place]),), ideal=1.0, notes=(served,))

    def exact(self, query: Query, k: int) -> Found:
        """Chunks that hold the query's identifiers and quoted phrases letter for letter.

        Each key weighs its rarest term's idf; a chunk scores the weight of the keys it holds over that of all.
        """
        seen = self._view.seen_by(query)
        found: list[tuple[str, float, Rows]] = []
        for key in identifiers(query.text)[:MOST_KEYS]:
            terms = sorted(set(self.analyser.terms(key)))
            if terms:
                found.append((key, float(self._view.weights(terms).max()), self._holding(key, terms, seen)))
        return keys_found(found, lambda rows, score: self._best(rows, score, k))

    def spelling(self, text: str, key: str) -> str:
        return as_written(text, key)

    def related(self, query: Query, k: int, walk: Walk) -> Found:
        """Rows that a walk over names, identifiers, word pairs and links reaches (see backend/walk.py)."""
        if self._no_graph:
            raise StoreError(*self._no_graph.split("; cure: "))
        return self._walking.found(query, k, walk)

    @cached_property
    def _walking(self) -> GraphWalk:
        return GraphWalk.over(self._view, self._graphs, self._base)

    def _holding(self, key: str, terms: Sequence[str], seen: Condition) -> Rows:
        """Rows that hold every term of a key, and then the key itself."""
        numbers = [number for number, _ in self._view.holding(terms)]
        if -1 in numbers:
            return np.empty(0, np.int64)
        held = lexical.holding_all(numbers)
        given = (*held.given, *seen.given)
        found = self._view.read(f"SELECT c.seq FROM chunk c WHERE {held.sql} AND {seen.sql}", given)
        rows = np.array([row[0] for row in found], np.int64)
        return letter_for_letter(key, rows, self.chunks)

    def _best(self, rows: Rows, scores: Floats, k: int) -> Rows:
        return best(rows, scores, k, self.ids)

    # -- who may be found

    def kinds(self) -> dict[str, set[str]]:
        return {field: set(found) for field, found in self._view.kinds.items()}

    def matches(self, expression: str, rows: Rows) -> Mask:
        held = self._view.visible(parse(expression), None, None)
        found = self._view.read(
            f"SELECT c.seq FROM chunk c WHERE c.seq = ANY(%s) AND {held.sql}", (rows.tolist(), *held.given)
        )
        return np.isin(rows, np.array([row[0] for row in found], np.int64))

    def live_rows(self, where: Filter | None) -> Rows:
        """Every live row, or those a filter keeps, in id order."""
        seen = self._view.visible(where, None, None)
        found = self._view.read(f"SELECT c.seq, c.id FROM chunk c WHERE {seen.sql} ORDER BY c.id", seen.given)
        return np.array([row[0] for row in found], np.int64)

    def ids_from(self, beginning: str, most: int = 20) -> list[str]:
        """Ids of live chunks that begin so, in order, at most `most`."""
        alive = self._view.alive
        if not is_held(beginning):
            return []
        found = self._view.read(
            f"SELECT id FROM chunk c WHERE id >= %s AND starts_with(id, %s) AND {alive.sql} ORDER BY id LIMIT %s",
            (beginning, beginning, *alive.given, most),
        )
        return [row[0] for row in found]

    @cached_property
    def foreign_share(self) -> float:
        """The share of live chunks known to be in another language than English."""
        if not self.size or "text" not in self._view.kinds.get("lang", ()):
            return 0.0
        seen = self._view.visible(Compare("lang", "!=", "en"), None, None)
        counted = self._view.read(f"SELECT count(*) FROM chunk c WHERE {seen.sql}", seen.given)
        return float(counted[0][0] / self.size)

    # -- facts by row

    def rows(self, ids: Ids) -> Rows:
        names, alive = [str(name) for name in ids], self._view.alive
        asked = [name for name in names if is_held(name)]
        found = self._view.read(
            f"SELECT c.id, c.seq FROM chunk c WHERE c.id = ANY(%s) AND ({alive.sql})", (asked, *alive.given)
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
        asked = rows.tolist()
        if name in NUMBERS:
            found = self._view.read(f"SELECT seq, {name}::float8 FROM chunk WHERE seq = ANY(%s)", (asked,), binary=True)
            known = {seq: np.nan if value is None else value for seq, value in found}
        else:
            found = self._view.read("SELECT seq, fields -> %s FROM chunk WHERE seq = ANY(%s)", (name, asked))
            known = {seq: _number(values) for seq, values in found}
        return np.array([known.get(row, np.nan) for row in asked], np.float64)

    def terms(self, text: str) -> list[str]:
        return self.analyser.terms(text)

    def term_weights(self, text: str) -> Mapping[str, float]:
        terms = self.analyser.query_terms(text)
        return dict(zip(terms, self._view.weights(terms).tolist(), strict=True))


def _number(values: list[object] | None) -> float:
    """The first number of a field's values counts."""
    for value in values or ():
        if isinstance(value, int | float) and not isinstance(value, bool):
            return as_number(value)
    return float("nan")
