"""The local snapshot: one generation, the first rows of its tail, and the dead, seen as one immutable store.

Rows 0 … G−1 are the generation's, in id order; rows from G on are the tail's, in order of insertion.
"""

from __future__ import annotations

import hashlib
import math
import weakref
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from assay.backend.local.eligibility import EligibleRows
from assay.backend.local.recovery import DamagedGenerations, recovering
from assay.backend.local.row_names import RowNames
from assay.backend.local.tree import LocalTreeSource, describe_settings, open_summaries, open_tree
from assay.backend.shared.bm25 import LexicalView, score_rows, search
from assay.backend.shared.entity_postings import GraphEntities
from assay.backend.shared.exact_match import MOST_KEYS, filter_exact, rank_by_keys
from assay.backend.shared.filter_cache import FilterCache
from assay.backend.shared.filters import SnapshotColumns
from assay.backend.shared.graph_search import search_graph
from assay.backend.shared.graph_view import GraphView
from assay.backend.shared.query_terms import QueryTerms
from assay.backend.shared.snapshot_copy import copy_without_cache, drop_cache
from assay.backend.shared.top_k import require_query_vector, top_k
from assay.backend.shared.tree_view import SnapshotTree
from assay.engine.chunk_columns import NUMBERS, number_of
from assay.engine.term_hits import TermHits
from assay.errors import Reason
from assay.index.checksums import DamagedIndex
from assay.index.generation import Generation
from assay.index.similarity import Bm25Similarity
from assay.index.tail import Tail
from assay.index.tree.index import TreeIndex
from assay.index.tree.layout import TreeSettings
from assay.index.vectors import exact_scores
from assay.protocols import DEFAULT_WEIGHTING, Matches, TermWeighting, WalkSettings
from assay.store.contents_digest import add_sums, digest_contents, sum_marks
from assay.store.sqlite import SqliteStore
from assay.text.analyser import Analyser
from assay.text.entities import find_spelling
from assay.text.highlight import find_excerpt
from assay.text.identifiers import extract_identifiers
from assay.types import Chunk, Excerpt, Floats, Ids, Note, Part, Query, Rows, Vectors
from assay.where import Compare, Filter, Mask, parse


class LocalSnapshot:
    """Implements `protocols.Snapshot` over the embedded store."""

    def __init__(
        self,
        store: SqliteStore,
        generation: Generation | None,
        tail: Tail,
        *,
        version: int,
        dead: Rows,
        tail_live: Mask,
        analyser: Analyser,
        model: str,
        dim: int,
        no_vectors: Reason,
        similarity: Bm25Similarity,
        tree_settings: Mapping[str, Any],
        damaged: DamagedGenerations,
        trouble: Reason | None = None,
    ) -> None:
        self._store = store
        self._generation = generation
        self._tail = tail
        self.version = version
        self._tail_size = len(tail_live)
        self._dead = dead
        self._tail_live = tail_live
        self.analyser = analyser
        self._model = model
        self._dim = dim
        self._no_vectors = no_vectors
        self._similarity = similarity
        self._tree_settings = tree_settings
        self._damaged = damaged
        self.trouble = trouble
        """What was wrong with the index; the answers are right all the same."""
        self._start = generation.size if generation else 0
        self._parts: FilterCache[LocalSnapshot] = FilterCache()
        self._whole: tuple[LocalSnapshot, Filter] | None = None

    @property
    def damage(self) -> DamagedIndex | None:
        return None if self._generation is None else self._generation.checks.damage

    def recover(self, error: BaseException) -> bool:
        """Replace the generation, if it is damaged, by one with the same rows."""
        replaced = None if self._generation is None else self._damaged.replace(self._generation, error)
        if replaced is None:
            return False
        self._generation, self.trouble = replaced
        drop_cache(self)
        return True

    @cached_property
    @recovering
    def digest(self) -> str:
        """Covers the generation, the tail, the dead, the analyser and the model.

        Tail and dead enter as sums of their rows' digests, which no order of arrival can change.
        """
        if self._whole is not None:
            whole, where = self._whole
            return hashlib.sha256(f"{whole.digest}|within {where}".encode()).hexdigest()
        live = self._live_marks
        new = sum(int.from_bytes(mark, "big") for mark in live)
        gone = sum(
            int.from_bytes(hashlib.blake2b(i.encode("utf-8", "surrogatepass")).digest(), "big") for i in self._dead_ids
        )
        content = f"{self._generation.digest if self._generation else ''}|{new}|{len(live)}|{gone}|{len(self._dead)}"
        return hashlib.sha256(f"{content}|{self._settings}".encode()).hexdigest()

    @property
    def _settings(self) -> str:
        """Everything beside the rows that an answer depends on."""
        tree = describe_settings(self._tree_settings)
        return f"{self.analyser.digest}|{self._model}{self._similarity.digest_suffix}{tree}"

    @property
    def _live_marks(self) -> list[bytes]:
        return [mark for mark, alive in zip(self._tail.marks, self._tail_live.tolist(), strict=False) if alive]

    def contents_digest(self, uses: frozenset[str]) -> str:
        """Covers the live rows, whatever their history, and how they are indexed only where answers depend on that: by
        inverted lists of vectors, which are approximate, and by the tree."""
        if self._whole is not None:
            whole, where = self._whole
            return hashlib.sha256(f"{whole.contents_digest(uses)}|within {where}".encode()).hexdigest()
        generation = self._generation
        if "tree" in uses or (generation is not None and generation.mark_sums is None):
            return self.digest
        if "dense" in uses and generation is not None and generation.vectors is not None and generation.vectors.probes:
            return self.digest
        return self._contents_digest

    @cached_property
    @recovering
    def _contents_digest(self) -> str:
        live, size, sums, less = self._live_marks, 0, [], (0, 0)
        if self._generation is not None and self._generation.mark_sums is not None:
            size, less = self._generation.size - len(self._dead), self._generation.sum_marks(self._dead)
            sums.append(self._generation.mark_sums)
        total = add_sums([*sums, sum_marks(b"".join(live))], less)
        return digest_contents(total, size + len(live), False, self._settings)

    @cached_property
    def _dead_ids(self) -> list[str]:
        return self._generation.ids.take(self._dead) if self._generation is not None else []

    @property
    def capabilities(self) -> frozenset[str]:
        return frozenset({"lexical", "exact", "graph", "tree", *(("dense",) if self._dim else ())})

    def lacks(self, capability: str) -> Reason | None:
        if capability in self.capabilities:
            return None
        return self._no_vectors if capability == "dense" else Reason(f"this store cannot do {capability!r}")

    @property
    @recovering
    def size(self) -> int:
        return self._view.size

    @cached_property
    def _view(self) -> LexicalView:
        words = self._generation.words if self._generation else None
        return LexicalView(words, self._tail, self._tail_size, self._dead, self._tail_live, self._similarity)

    # -- finding

    @recovering
    def lexical(self, query: Query, k: int, weighting: TermWeighting = DEFAULT_WEIGHTING) -> Matches:
        weighted, notes = self._query_terms(query, weighting)
        terms = weighted.terms
        if not terms or not self.size:
            return Matches(np.empty(0, np.int64), (), ideal=0.0, notes=notes)
        old, new = self._allowed(query)
        scored = search(self._view, weighted, k, old, new)
        place = self._best(scored.rows, scored.score, k)
        parts = tuple(Part(t, "add", line) for t, line in zip(terms, scored.contributions[:, place], strict=True))
        return Matches(scored.rows[place], parts, scored.ideal, notes)

    @recovering
    def lexical_at(self, query: Query, rows: Rows, weighting: TermWeighting = DEFAULT_WEIGHTING) -> Matches:
        weighted, notes = self._query_terms(query, weighting)
        terms = weighted.terms
        if not terms or not self.size:
            return Matches(rows, (), ideal=0.0, notes=notes)
        scored = score_rows(self._view, weighted, rows)
        parts = tuple(Part(t, "add", line) for t, line in zip(terms, scored.contributions, strict=True))
        return Matches(rows, parts, scored.ideal, notes)

    def _query_terms(self, query: Query, weighting: TermWeighting) -> tuple[QueryTerms, tuple[Note, ...]]:
        """The terms of a query; of a very long one, its heaviest."""
        terms = QueryTerms.analyse(self.analyser, query.text, weighting)
        places, notes = terms.select_heaviest(lambda: self._view.idf(terms.terms))
        return terms.take(places) if notes else terms, notes

    @recovering
    def nearest(self, query: Query, k: int) -> Matches:
        vector = require_query_vector(query, self._dim, self._no_vectors)
        old, new = self._allowed(query)
        rows, scores = np.empty(0, np.int64), np.empty(0)
        if self._generation is not None and self._generation.vectors is not None:
            rows, scores = self._generation.vectors.nearest(vector, k, old)
        if self._tail_size:
            matrix = self._tail.vectors(self._tail_size)
            fresh = np.flatnonzero(new & matrix.any(axis=1))
            rows = np.concatenate([rows, fresh + self._start])
            scores = np.concatenate([scores, exact_scores(matrix[fresh], vector)])
        place = self._best(rows, scores, k)
        return Matches(rows[place], (Part("cosine", "add", scores[place]),), ideal=1.0)

    @recovering
    def exact(self, query: Query, k: int) -> Matches:
        """Chunks that hold the query's identifiers and quoted phrases letter for letter.

        Each key weighs its rarest term's idf; a chunk scores the weight of the keys it holds over that of all.
        """
        keys = extract_identifiers(query.text)[:MOST_KEYS]
        old, new = self._allowed(query)
        matches: list[tuple[str, float, Rows]] = []
        for key in keys:
            terms = sorted(set(self.analyser.terms(key)))
            if terms:
                weight = float(self._view.idf(terms).max())
                matches.append((key, weight, self._holding(key, terms, old, new)))
        return rank_by_keys(matches, lambda rows, score: self._best(rows, score, k))

    def spelling(self, text: str, key: str) -> str:
        return find_spelling(text, key)

    @recovering
    def related(self, query: Query, k: int, walk: WalkSettings) -> Matches:
        """Rows that a walk over names, identifiers, word pairs and links reaches (backend/shared/graph_search.py)."""
        allowed = self._visible(query)
        return search_graph(self._graph_view, query, walk, allowed, lambda rows, score: self._best(rows, score, k))

    @cached_property
    def _graph_view(self) -> GraphView:
        graph = self._generation.graph(self._store, self.analyser) if self._generation else None
        tail = self._tail.graph(graph)
        return GraphView(graph, tail, self._tail.chunks, self._dead, self._tail_live, self.analyser.language)

    @recovering
    def entities(self) -> GraphEntities:
        def find_query_terms(query: Query) -> QueryTerms:
            return self._query_terms(query, DEFAULT_WEIGHTING)[0]

        return GraphEntities(self._graph_view, self._view, self._visible, find_query_terms)

    @recovering
    def tree(self) -> SnapshotTree:
        """The tree of these rows; the first call builds it, unless it was built ahead."""
        return self._tree

    @cached_property
    def _tree(self) -> SnapshotTree:
        source = LocalTreeSource(
            self,
            self._generation,
            self._tail,
            self._tail_size,
            lambda query, weighting: self._query_terms(query, weighting)[0],
            lambda query: _all(self._visible(query), self._start + self._tail_size),
            open_summaries(self._store),
        )
        settings = TreeSettings.from_json(self._tree_settings)
        return open_tree(source, self._view, lambda: self._open_tree_index(settings), settings)

    def _open_tree_index(self, settings: TreeSettings) -> TreeIndex:
        assert self._generation is not None
        return self._generation.tree(self._store, self.analyser, self._similarity, settings)

    def _holding(self, key: str, terms: Sequence[str], old: Mask | None, new: Mask) -> Rows:
        """Rows that hold every term of a key, and then the key itself."""
        words = self._view.words
        rows = np.empty(0, np.int64)
        if words:
            numbers = sorted(
                map(words.term, terms), key=words.frequency
            )  # rows of the rarest term are checked for the others
            rarest_rows = words.postings(numbers[0])[0]
            rows = rarest_rows[words.counts(numbers[1:], rarest_rows).all(axis=0)].astype(np.int64)
            rows = rows if old is None else rows[old[rows]]
        fresh = new.copy()
        for term in terms:
            holds = np.zeros(self._tail_size, np.bool_)
            holds[self._tail.postings(term, self._tail_size)[0]] = True
            fresh &= holds
        rows = np.concatenate([rows, np.flatnonzero(fresh) + self._start])
        return filter_exact(key, rows, self.chunks)

    def _best(self, rows: Rows, scores: Floats, k: int) -> Rows:
        return top_k(rows, scores, k, self._names)

    def _names(self, rows: Rows) -> Any:
        """The generation's rows stand in id order, so their numbers break ties as their ids would."""
        return rows if not self._tail_size or bool((rows < self._start).all()) else self.ids(rows)

    # -- eligibility

    def _allowed(self, query: Query) -> tuple[Mask | None, Mask]:
        return self._eligible_rows.get(query.where, query.at, query.scope)

    def _visible(self, query: Query) -> Mask | None:
        """Live rows that the query may see; None for all rows."""
        old, new = self._allowed(query)
        return None if old is None and bool(new.all()) else np.concatenate([_all(old, self._start), new])

    @cached_property
    def _eligible_rows(self) -> EligibleRows:
        # Weak: a circle of references would hold the generation's files open until the next garbage collection.
        own = weakref.proxy(self)
        return EligibleRows(lambda: own.columns, self._start, self._dead, self._tail_live, lambda: own._newest)

    @property
    def _newest(self) -> float:
        """No row was created later."""
        return max(self._tail.newest, self._generation.columns.newest if self._generation else -math.inf)

    @recovering
    def within(self, where: Filter) -> LocalSnapshot:
        """This snapshot as if it held only the rows that a filter keeps: no other row changes a score or a count."""
        return self._parts.get(where, None, None, lambda: self._restrict(where))

    def _restrict(self, where: Filter) -> LocalSnapshot:
        old, new = self._eligible_rows.get(where, None, None)
        part = copy_without_cache(self, frozenset({"columns"}))
        part._dead = self._dead if old is None else np.flatnonzero(~old)
        part._tail_live = new
        part._whole = (self, where)
        part._parts = FilterCache()
        return part

    @recovering
    def kinds(self) -> dict[str, set[str]]:
        return self.columns.kinds()

    @cached_property
    def columns(self) -> SnapshotColumns:
        old = self._generation.columns if self._generation else None
        return SnapshotColumns(old, self._tail.columns, self._tail_size)

    @recovering
    def matches(self, expression: str, rows: Rows) -> Mask:
        return parse(expression).mask(self.columns)[rows]

    @recovering
    def live_rows(self, where: Filter | None) -> Rows:
        """Every live row, or those a filter keeps, in id order."""
        old, new = self._eligible_rows.get(where, None, None)
        known = np.arange(self._start) if old is None else np.flatnonzero(old)
        return self._row_names.insert_tail(known, new)

    def excerpt(self, text: str, query: str, width: int) -> Excerpt:
        return find_excerpt(text, self.analyser.query_terms(query), self.analyser, width)

    @recovering
    def ids_with_prefix(self, prefix: str, most: int = 20) -> list[str]:
        """Ids of live chunks with this prefix, in order, at most `most`."""
        return self._row_names.with_prefix(prefix, most)

    @cached_property
    @recovering
    def foreign_share(self) -> float:
        """The share of live chunks known to be in another language than English."""
        if not self.size or "text" not in self.columns.kinds().get("lang", ()):
            return 0.0
        return len(self.live_rows(Compare("lang", "!=", "en"))) / self.size

    # -- facts by row

    @recovering
    def rows(self, ids: Ids) -> Rows:
        return np.array([self._row_names.row(str(name)) for name in ids], np.int64)

    @recovering
    def ids(self, rows: Rows) -> Ids:
        return self._row_names.ids(rows)

    @cached_property
    def _row_names(self) -> RowNames:
        ids = self._generation.ids if self._generation else None
        return RowNames(ids, self._start, self._dead, self._tail, self._tail_live)

    @recovering
    def chunks(self, rows: Rows) -> list[Chunk]:
        old = [row for row in rows.tolist() if row < self._start]
        read: dict[int, Chunk] = {}
        if self._generation is not None and old:
            seqs = self._generation.seqs[old].tolist()
            read = {row: stored.chunk for row, stored in zip(old, self._store.rows(seqs), strict=True)}
        return [read[row] if row < self._start else self._tail.chunks[row - self._start] for row in rows.tolist()]

    @recovering
    def vectors(self, rows: Rows) -> Vectors:
        matrix = None if self._generation is None else self._generation.vectors
        if not self._tail_size and matrix is not None:
            found: Vectors = np.take(matrix.matrix, rows, axis=0)
            return found
        out = np.zeros((len(rows), max(self._dim, 1)), np.float32)
        old = rows < self._start
        if self._generation is not None and self._generation.vectors is not None:
            out[old] = self._generation.vectors.take(rows[old])
        if self._dim:
            out[~old] = self._tail.vectors(self._tail_size)[rows[~old] - self._start]
        return out

    @recovering
    def find_terms(self, rows: Rows, terms: Sequence[str]) -> TermHits:
        """Where these terms are in these rows; a generation without positions has its texts read."""
        words, old = self._view.words, rows < self._start
        if words is None or not old.any():
            return self._tail.find_terms(rows - self._start, terms)
        if not words.knows_positions:
            return TermHits.of_texts((self.terms(chunk.indexed_text) for chunk in self.chunks(rows)), terms)
        numbers = [words.term(term) for term in terms]
        if old.all():
            return words.find_terms(rows, numbers)
        fresh = self._tail.find_terms(rows[~old] - self._start, terms)
        return TermHits.join(
            [(np.flatnonzero(old), words.find_terms(rows[old], numbers)), (np.flatnonzero(~old), fresh)]
        )

    @recovering
    def documents(self, rows: Rows) -> Rows:
        """A number per row, equal for chunks of one document; documents of the tail alone are numbered behind."""
        columns, old = self._generation.columns if self._generation else None, rows < self._start
        out = np.zeros(len(rows), np.int64)
        if columns is not None:
            out[old] = columns.documents[rows[old]]
        if not old.all():
            unknown: dict[str, int] = {}
            for place in np.flatnonzero(~old).tolist():
                name = self._tail.chunks[int(rows[place]) - self._start].doc_id
                number = columns.document_number(name) if columns else -1
                out[place] = number if number >= 0 else unknown.setdefault(name, self._start + len(unknown))
        return out

    @recovering
    def numbers(self, name: str, rows: Rows) -> Floats:
        out = np.full(len(rows), np.nan)
        old = rows < self._start
        if self._generation is not None and old.any():
            columns = self._generation.columns
            out[old] = (columns.numbers[name] if name in NUMBERS else columns.number(name))[rows[old]]
        for place in np.flatnonzero(~old).tolist():
            out[place] = number_of(self._tail.chunks[int(rows[place]) - self._start], name)
        return out

    def terms(self, text: str) -> list[str]:
        return self.analyser.terms(text)

    @recovering
    def term_weights(self, text: str) -> Mapping[str, float]:
        terms = self.analyser.query_terms(text)
        return dict(zip(terms, self._view.idf(terms).tolist(), strict=True))


def _all(mask: Mask | None, size: int) -> Mask:
    return np.ones(size, np.bool_) if mask is None else mask
