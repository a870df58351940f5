"""A snapshot over posting lists: rows are sequence numbers of the store, no index is built first.

A backend gives the postings of terms, the rows that pass a filter, and rows by number; searching and scoring are here.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from assay.backend.shared.exact_match import MOST_KEYS, filter_exact, rank_by_keys
from assay.backend.shared.filter_cache import FilterCache
from assay.backend.shared.postings_bm25 import LiveRows, Posting, scan_postings, score_positions
from assay.backend.shared.query_terms import QueryTerms
from assay.backend.shared.snapshot_copy import copy_without_cache
from assay.backend.shared.top_k import top_k
from assay.engine.chunk_columns import number_of
from assay.errors import Reason
from assay.protocols import DEFAULT_WEIGHTING, Matches, TermWeighting
from assay.store.contents_digest import digest_contents, sum_marks
from assay.store.contract import ChunkStore
from assay.store.rows import ChunkRow
from assay.text.analyser import Analyser
from assay.text.highlight import find_excerpt
from assay.text.identifiers import extract_identifiers
from assay.types import Chunk, Excerpt, Floats, Ids, Note, Part, Query, Rows, Vectors
from assay.where import Compare, Filter, Mask, parse


class RowCache:
    """The rows read last; rows never change, so all snapshots share them."""

    def __init__(self, most: int = 4_096) -> None:
        self._rows: dict[int, ChunkRow] = {}
        self._most = most
        self._lock = threading.Lock()

    def get(self, seqs: Sequence[int], store: ChunkStore) -> list[ChunkRow]:
        known = {seq: row for seq in seqs if (row := self._rows.get(seq)) is not None}
        lacking = [seq for seq in dict.fromkeys(seqs) if seq not in known]
        if lacking:
            known.update(zip(lacking, store.rows(lacking), strict=True))
        with self._lock:
            if len(self._rows) + len(lacking) > self._most:
                self._rows.clear()
            if len(lacking) <= self._most:
                self._rows.update((seq, known[seq]) for seq in lacking)
        return [known[seq] for seq in seqs]

    def clear(self) -> None:
        with self._lock:
            self._rows.clear()


class PostingsSnapshot(ABC):
    """Implements `contract.StoreSnapshot` except for vectors; subclasses give the abstract methods."""

    all_first = False
    """If k chunks hold all terms of a query, only such chunks are ranked."""
    store_wide: ClassVar[frozenset[str]] = frozenset()
    """Cached properties that are the same in every part of a snapshot."""

    def __init__(self, version: int, live: LiveRows, marks: bytes, analyser: Analyser, model: str) -> None:
        self.version = version
        self.live = live
        self._marks = marks
        self.analyser = analyser
        self._model = model
        self._masks: FilterCache[Mask] = FilterCache()
        self._parts: FilterCache[Self] = FilterCache()

    # -- what a backend provides

    @abstractmethod
    def postings(self, terms: Sequence[str]) -> list[Posting]:
        """Rows, alive or not, that hold each of these terms."""

    @abstractmethod
    def rows_passing(self, where: Filter | None, at: float | None, scope: str | None) -> Rows:
        """Rows, alive or not, that pass a filter, were not created after `at`, and are of the scope; ascending."""

    @abstractmethod
    def read_rows(self, seqs: Sequence[int]) -> list[ChunkRow]: ...

    @abstractmethod
    def rows_by_id(self, ids: Sequence[str]) -> dict[str, int]:
        """Live rows by id; ids without one are left out."""

    @abstractmethod
    def read_ids(self, seqs: Sequence[int]) -> list[str]: ...

    @abstractmethod
    def ids_with_prefix(self, prefix: str, most: int = 20) -> list[str]: ...

    @abstractmethod
    def kinds(self) -> dict[str, set[str]]: ...

    @property
    @abstractmethod
    def capabilities(self) -> frozenset[str]: ...

    @abstractmethod
    def lacks(self, capability: str) -> Reason | None: ...

    @abstractmethod
    def nearest(self, query: Query, k: int) -> Matches: ...

    @abstractmethod
    def vectors(self, rows: Rows) -> Vectors: ...

    # -- identity

    @cached_property
    def digest(self) -> str:
        """Covers the live rows (as sums of their digests, which no order of arrival can change), analyser and model."""
        settings = f"{self.analyser.digest}|{self._model}{self.live.similarity.digest_suffix}"
        return digest_contents(sum_marks(self._marks), self.size, self.all_first, settings)

    @property
    def size(self) -> int:
        return self.live.size

    # -- finding

    def lexical(self, query: Query, k: int, weighting: TermWeighting = DEFAULT_WEIGHTING) -> Matches:
        weighted, lists, notes = self._query_terms(query, weighting)
        terms = weighted.terms
        if not terms or not self.size:
            return Matches(np.empty(0, np.int64), (), ideal=0.0, notes=notes)
        result = scan_postings(self.live, lists, weighted.boosts, k, self._allowed(query), self.all_first)
        if self.all_first and len(terms) > 1:
            notes = (*notes, _match_note(result.whole, len(terms), result.broadened))
        scored = result.scored
        rows = self.live.seqs[scored.rows]
        place = self._best(rows, scored.score, k)
        parts = tuple(Part(t, "add", line) for t, line in zip(terms, scored.contributions[:, place], strict=True))
        return Matches(rows[place], parts, scored.ideal, notes)

    def lexical_at(self, query: Query, rows: Rows, weighting: TermWeighting = DEFAULT_WEIGHTING) -> Matches:
        weighted, lists, notes = self._query_terms(query, weighting)
        terms = weighted.terms
        if not terms or not self.size:
            return Matches(rows, (), ideal=0.0, notes=notes)
        scored = score_positions(self.live, lists, weighted.boosts, self.live.positions(rows)[0])
        parts = tuple(Part(t, "add", line) for t, line in zip(terms, scored.contributions, strict=True))
        return Matches(rows, parts, scored.ideal, notes)

    def _query_terms(
        self, query: Query, weighting: TermWeighting
    ) -> tuple[QueryTerms, list[Posting], tuple[Note, ...]]:
        """The terms of a query with their postings; of a very long one, its heaviest."""
        terms = QueryTerms.analyse(self.analyser, query.text, weighting)
        lists = self._live(terms.terms)
        places, notes = terms.select_heaviest(lambda: self.live.idf(lists))
        return (terms.take(places), [lists[i] for i in places], notes) if notes else (terms, lists, ())

    def exact(self, query: Query, k: int) -> Matches:
        """Chunks that hold the query's identifiers and quoted phrases letter for letter.

        Each key weighs its rarest term's idf; a chunk scores the weight of the keys it holds over that of all.
        """
        keys = [
            (key, terms)
            for key in extract_identifiers(query.text)[:MOST_KEYS]
            if (terms := sorted(set(self.terms(key))))
        ]
        allowed = self._allowed(query)
        matches: list[tuple[str, float, Rows]] = []
        for key, terms in keys:
            lists = self._live(terms)
            matches.append((key, float(self.live.idf(lists).max()), self._holding(key, lists, allowed)))
        return rank_by_keys(matches, lambda rows, score: self._best(rows, score, k))

    def _holding(self, key: str, lists: Sequence[Posting], allowed: Mask | None) -> Rows:
        """Rows that hold every term of a key and its exact text; ascending."""
        positions = lists[0][0]
        for other, _ in lists[1:]:
            positions = np.intersect1d(positions, other, assume_unique=True)
        rows = self.live.seqs[positions if allowed is None else positions[allowed[positions]]]
        return filter_exact(key, rows, self.chunks)

    def _live(self, terms: Sequence[str]) -> list[Posting]:
        """The postings of terms by positions in this view."""
        return [self.live.to_positions(posting) for posting in self.postings(terms)]

    def _best(self, rows: Rows, scores: Floats, k: int) -> Rows:
        return top_k(rows, scores, k, self.ids)

    # -- eligibility

    def _allowed(self, query: Query) -> Mask | None:
        """Positions that a query may see; None for all."""
        return self._eligible(query.where, query.at, query.scope)

    def _eligible(self, where: Filter | None, at: float | None, scope: str | None) -> Mask | None:
        if where is None and at is None and scope is None:
            return None
        return self._masks.get(where, at, scope, lambda: self.live.mask(self.rows_passing(where, at, scope)))

    def within(self, where: Filter) -> Self:
        """This snapshot as if it held only the rows that a filter keeps: no other row changes a score or a count."""
        return self._parts.get(where, None, None, lambda: self._restrict(where))

    def _restrict(self, where: Filter) -> Self:
        mask = self._eligible(where, None, None)
        if mask is None:
            return self
        part = copy_without_cache(self, self.store_wide)
        part.live = LiveRows(self.live.seqs[mask], self.live.lengths[mask], self.live.similarity)
        part._marks = np.frombuffer(self._marks, "V16")[mask].tobytes()
        part._masks, part._parts = FilterCache(), FilterCache()
        return part

    def matches(self, expression: str, rows: Rows) -> Mask:
        return np.isin(rows, self.rows_passing(parse(expression), None, None))

    def live_rows(self, where: Filter | None) -> Rows:
        mask = self._eligible(where, None, None)
        rows = self.live.seqs if mask is None else self.live.seqs[mask]
        order = np.argsort(np.array(self.read_ids(rows.tolist()), np.str_), kind="stable")
        return rows[order]

    @cached_property
    def foreign_share(self) -> float:
        if not self.size or "text" not in self.kinds().get("lang", ()):
            return 0.0
        foreign = self._eligible(Compare("lang", "!=", "en"), None, None)
        return 0.0 if foreign is None else float(np.mean(foreign))

    # -- facts by row

    def rows(self, ids: Ids) -> Rows:
        wanted = [str(name) for name in ids]
        known = self.rows_by_id(wanted)
        rows = np.array([known.get(name, -1) for name in wanted], np.int64)
        return np.where(self.live.positions(rows)[1], rows, -1)

    def ids(self, rows: Rows) -> Ids:
        return np.array(self.read_ids(rows.tolist()), np.str_)

    def chunks(self, rows: Rows) -> list[Chunk]:
        return [row.chunk for row in self.read_rows(rows.tolist())]

    def numbers(self, name: str, rows: Rows) -> Floats:
        return np.array([number_of(chunk, name) for chunk in self.chunks(rows)], np.float64)

    def terms(self, text: str) -> list[str]:
        return self.analyser.terms(text)

    def excerpt(self, text: str, query: str, width: int) -> Excerpt:
        return find_excerpt(text, self.analyser.query_terms(query), self.analyser, width)

    def term_weights(self, text: str) -> Mapping[str, float]:
        terms = self.analyser.query_terms(text)
        return dict(zip(terms, self.live.idf(self._live(terms)).tolist(), strict=True))


def _match_note(whole: int, terms: int, broadened: bool) -> Note:
    """How the words were matched, for the trace of an answer."""
    held = f"all {terms} terms stand in {whole} chunk{'' if whole == 1 else 's'}"
    return Note("info", f"{held}: too few, so those with any of them were ranked" if broadened else held)
