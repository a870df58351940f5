"""A snapshot of a Lance store: Lance proposes every row that can matter, Assay scores.

While a store is small, posting lists and vectors are held in memory and searched there. Beyond that, Lance's text
index over our analysed terms gives every row that holds one of a query's terms (no limit, so its scores decide
nothing), and the terms are counted in what it gives; and a flat search in float32 proposes vectors, growing until the
k-th exact score is out of reach of everybody it left out.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, takewhile
from typing import Any

import numpy as np

from assay.backend.contract import NO_GRAPH, NO_TREE
from assay.backend.lance.cache import PostingsCache, VectorCache
from assay.backend.lance.store import LanceStore
from assay.backend.lance.tables import import_arrow, translate_lance_errors
from assay.backend.shared.filters import check_comparison, check_field
from assay.backend.shared.postings_bm25 import LiveRows, Posting
from assay.backend.shared.postings_snapshot import PostingsSnapshot, RowCache
from assay.backend.shared.top_k import require_query_vector
from assay.engine.chunk_columns import ChunkColumns
from assay.errors import Reason
from assay.index.similarity import Bm25Similarity
from assay.index.vectors import exact_scores
from assay.protocols import Matches
from assay.store.rows import ChunkRow
from assay.text.analyser import Analyser
from assay.text.term_encoding import encode_term
from assay.types import Chunk, Floats, Part, Query, Rows, Vector, Vectors
from assay.where import Compare, Filter, Mask, Value

NO_VECTORS = Reason("this store was made without an embedding model", "assay model install, then assay reembed")
GATHER = 1_000
"""Up to so many eligible rows are scored one by one instead of searched."""
_NOISE = 1e-5
"""More than the rounding error of a cosine in float32."""
_MOST_POSTINGS = 2_000_000
_FIELDS = ("seq", "id", "doc_id", "meta", "created", "importance", "tokens", "chars")
_OWN = {"id": "text", "doc_id": "text", "created": "number", "importance": "number", "tokens": "number"}


@dataclass
class LanceView:
    """What a process has read of the tables; snapshots of this version and of older ones share it."""

    seqs: Rows
    lengths: Floats
    marks: bytes
    ids: list[str]
    words: PostingsCache | None
    vectors: VectorCache | None
    postings: dict[str, Posting] = field(default_factory=dict)
    cached_postings: int = 0


class LanceSnapshot(PostingsSnapshot):
    """Rows inserted up to a version and not deleted by it."""

    store_wide = frozenset({"columns"})

    def __init__(
        self, store: LanceStore, version: int, known: LanceView, alive: Mask, analyser: Analyser, cache: RowCache
    ) -> None:
        marks = np.frombuffer(known.marks, "V16")[alive].tobytes()
        settings = store.settings
        model = f"{settings['model']}|{store.known.entries['setting'].get('filled', '')}"
        live = LiveRows(known.seqs[alive], known.lengths[alive], Bm25Similarity.from_settings(settings))
        super().__init__(version, live, marks, analyser, model)
        self._store, self._known, self._cache = store, known, cache
        self._dim = int(settings["dim"])

    @property
    def capabilities(self) -> frozenset[str]:
        return frozenset({"lexical", "exact", "dense"} if self._dim else {"lexical", "exact"})

    def lacks(self, capability: str) -> Reason | None:
        if capability in self.capabilities:
            return None
        return {"dense": NO_VECTORS, "graph": NO_GRAPH, "tree": NO_TREE}.get(
            capability, Reason(f"this store cannot do {capability!r}")
        )

    # -- words

    def postings(self, terms: Sequence[str]) -> list[Posting]:
        known = self._known
        if known.words is not None:
            return [known.words.posting(term) for term in terms]
        unread = [term for term in terms if term not in known.postings]
        if unread:
            if known.cached_postings > _MOST_POSTINGS:
                known.postings, known.cached_postings = {}, 0
                unread = list(terms)
            rows, bodies = self._holding_any(unread)
            for term in unread:
                found = known.postings[term] = _counted(rows, bodies, term)
                known.cached_postings += len(found[0])
        return [known.postings[term] for term in terms]

    def _holding_any(self, terms: Sequence[str]) -> tuple[Rows, Any]:
        """Rows, ascending, that hold one of these terms, with their analysed words."""
        import lancedb.query

        match: Any = lancedb.query.MatchQuery
        any_term = match(" ".join(map(encode_term, terms)), "body")
        most = len(self._known.seqs) + 1
        while True:
            with translate_lance_errors(self._store.folder):
                query = self._store.tables["chunk"].search(any_term, query_type="fts").select(["seq", "body", "_score"])
                found = query.limit(most).to_arrow()
            if found.num_rows < most:
                break
            most *= 2  # others added rows meanwhile: all that hold a term must be there
        order = np.argsort(found["seq"].to_numpy(), kind="stable")
        table = found.take(import_arrow().array(order))
        return table["seq"].to_numpy().astype(np.int64), table["body"]

    # -- vectors

    def nearest(self, query: Query, k: int) -> Matches:
        vector = require_query_vector(query, self._dim, NO_VECTORS)
        allowed = self._allowed(query)
        count = self.size if allowed is None else int(np.count_nonzero(allowed))
        cached = self._known.vectors
        if cached is not None:
            rows, scores = cached.nearest(vector, k, self._is_eligible(cached.seqs, allowed))
        elif count <= max(k, GATHER):
            rows = self.live.seqs if allowed is None else self.live.seqs[allowed]
            vectors = self.vectors(rows)
            has = vectors.any(axis=1)
            rows, scores = rows[has], exact_scores(vectors[has], vector)
        else:
            rows, scores = self._search_lance(vector, k, allowed, count)
        place = self._best(rows, scores, k)
        return Matches(rows[place], (Part("cosine", "add", scores[place]),), ideal=1.0)

    def _is_eligible(self, rows: Rows, allowed: Mask | None) -> Mask:
        """Which of these rows are live here, and allowed."""
        places, alive = self.live.positions(rows)
        return alive if allowed is None or not self.size else alive & allowed.take(places, mode="clip")

    def _search_lance(self, vector: Vector, k: int, allowed: Mask | None, count: int) -> tuple[Rows, Floats]:
        """The best rows with exact scores, once no other row can be among them."""
        if self._store.vector_table not in self._store.tables.names():
            return np.empty(0, np.int64), np.empty(0)  # no chunk has a vector yet
        table = self._store.tables[self._store.vector_table]
        fetch = int(k * 1.5 * len(self._known.seqs) / count) + 16
        while True:
            with translate_lance_errors(self._store.folder):
                search = table.search(vector, vector_column_name="value", query_type="vector")
                found = (
                    search.distance_type("dot")
                    .bypass_vector_index()
                    .select(["seq", "value", "_distance"])
                    .limit(fetch)
                    .to_arrow()
                )
            seqs = found["seq"].to_numpy().astype(np.int64)
            alive = self._is_eligible(seqs, allowed)
            rows, first = np.unique(seqs[alive], return_index=True)  # a row embedded twice has one vector
            cached = found["value"].combine_chunks().flatten().to_numpy().reshape(-1, self._dim)[alive][first]
            has = cached.any(axis=1)
            rows, scores = rows[has], exact_scores(cached[has], vector)
            if len(seqs) < fetch:  # there are no more
                return rows, scores
            beyond = 1.0 - float(found["_distance"].to_numpy().max())  # 1 − dot is what Lance calls the distance
            if len(rows) >= k and float(np.partition(scores, len(scores) - k)[len(scores) - k]) > beyond + _NOISE:
                return rows, scores
            fetch *= 2

    def vectors(self, rows: Rows) -> Vectors:
        if not self._dim:
            return np.zeros((len(rows), 1), np.float32)
        cached = self._known.vectors
        return self._store.vectors(rows.tolist(), self._dim) if cached is None else cached.get(rows)

    # -- filters

    @cached_property
    def columns(self) -> _LanceColumns:
        return _LanceColumns(self._store, len(self._known.seqs))

    def kinds(self) -> dict[str, set[str]]:
        return self.columns.kinds

    def rows_passing(self, where: Filter | None, at: float | None, scope: str | None) -> Rows:
        columns = self.columns
        mask = np.ones(columns.size, np.bool_) if where is None else where.mask(columns)
        if at is not None:
            later = columns.tail.compare("created", ">", at, columns.size)
            mask = mask & ~later  # the undated are never hidden
        if scope is not None:
            known = "text" in columns.kinds.get("scope", ())
            mask = mask & (Compare("scope", "=", scope).mask(columns) if known else np.False_)
        return columns.seqs[mask]

    # -- rows

    def read_rows(self, seqs: Sequence[int]) -> list[ChunkRow]:
        return self._cache.get(seqs, self._store)

    @cached_property
    def _row_of(self) -> dict[str, int]:
        seqs = self.live.seqs.tolist()
        return dict(zip(self.read_ids(seqs), seqs, strict=True))

    def rows_by_id(self, ids: Sequence[str]) -> dict[str, int]:
        return {name: row for name in ids if (row := self._row_of.get(name)) is not None}

    def read_ids(self, seqs: Sequence[int]) -> list[str]:
        places = np.searchsorted(self._known.seqs, np.array(seqs, np.int64)).tolist()
        return [self._known.ids[place] for place in places]

    @cached_property
    def _sorted_ids(self) -> list[str]:
        return sorted(self._row_of)

    def ids_with_prefix(self, prefix: str, most: int = 20) -> list[str]:
        first = bisect_left(self._sorted_ids, prefix)
        found = takewhile(lambda name: name.startswith(prefix), islice(self._sorted_ids, first, None))
        return list(islice(found, most))


class _LanceColumns:
    """What a filter sees of all rows, dead ones too."""

    def __init__(self, store: LanceStore, size: int) -> None:
        table = store.tables.read("chunk", _FIELDS).sort_by("seq").slice(0, size)
        self.seqs: Rows = table["seq"].to_numpy().astype(np.int64)
        self.size = len(self.seqs)
        self.tail = ChunkColumns()
        for place, row in enumerate(zip(*(table[name].to_pylist() for name in _FIELDS[1:]), strict=True)):
            name, doc_id, meta, created, importance, tokens, chars = row
            moment = float("nan") if created is None else created
            chunk = Chunk(name, doc_id, "", tokens, moment, importance, json.loads(meta))
            self.tail.add(place, chunk, (moment, importance, float(tokens), float(chars)))
        self.kinds: dict[str, set[str]] = {
            **{name: {kind} for name, kind in (*_OWN.items(), ("chars", "number"))},
            **self.tail.kinds(self.size),
        }

    def compare(self, field: str, op: str, value: Value) -> Mask:
        check_comparison(self.kinds, field, op, value)
        return self.tail.compare(field, op, value, self.size)

    def missing(self, field: str) -> Mask:
        check_field(self.kinds, field)
        return self.tail.missing(field, self.size)


def _counted(rows: Rows, bodies: Any, term: str) -> Posting:
    """How often a term stands in each body; each term of a body stands between spaces of its own."""
    import pyarrow.compute as pc

    counts = pc.count_substring(bodies, f" {encode_term(term)} ").to_numpy()
    holding = counts > 0
    return rows[holding], np.minimum(counts[holding], 65_535).astype(np.float64)
