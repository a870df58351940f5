"""A snapshot over posting lists, whatever gives them: rows are sequence numbers of the record, nothing is built first.

A backend says how to get a term's postings, who passes a filter, and rows by number; what is searched and how it is
scored stands here, once.
"""

from __future__ import annotations

import hashlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from assay.backend.shared.best_rows import best
from assay.backend.shared.bm25 import MOST_TERMS
from assay.backend.shared.exact_keys import MOST_KEYS, keys_found, letter_for_letter, rarest
from assay.backend.shared.filter_cache import FilterCache
from assay.backend.shared.postings_bm25 import LiveRows, Posting, rate, scan
from assay.engine.chunk_columns import number_of
from assay.protocols import Found
from assay.store.contract import ChunkStore
from assay.store.rows import ChunkRow
from assay.text.analyse import Analyser, identifiers
from assay.types import Chunk, Floats, Ids, Note, Part, Query, Rows, Vectors
from assay.where import Compare, Filter, Mask, parse


class RowCache:
    """The rows read last; they never change, so they serve every snapshot."""

    def __init__(self, most: int = 4_096) -> None:
        self._rows: dict[int, ChunkRow] = {}
        self._most = most
        self._lock = threading.Lock()

    def get(self, seqs: Sequence[int], record: ChunkStore) -> list[ChunkRow]:
        known = {seq: row for seq in seqs if (row := self._rows.get(seq)) is not None}
        lacking = [seq for seq in dict.fromkeys(seqs) if seq not in known]
        if lacking:
            known.update(zip(lacking, record.rows(lacking), strict=True))
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
    """Implements `kept.KeptSnapshot` but for vectors. Subclasses answer the abstract questions."""

    all_first = False
    """Does a query look at the chunks that hold all of its terms before the others?"""

    def __init__(self, version: int, roll: LiveRows, marks: bytes, analyser: Analyser, model: str) -> None:
        self.version = version
        self.roll = roll
        self._marks = marks
        self.analyser = analyser
        self._model = model
        self._masks: FilterCache[Mask] = FilterCache()

    # -- what a backend says

    @abstractmethod
    def postings(self, terms: Sequence[str]) -> list[Posting]:
        """Rows, alive or not, that hold each of these terms."""

    @abstractmethod
    def passing(self, where: Filter | None, at: float | None, scope: str | None) -> Rows:
        """Rows, alive or not, that pass a filter, were not created after `at`, and are of the scope; ascending."""

    @abstractmethod
    def read(self, seqs: Sequence[int]) -> list[ChunkRow]: ...

    @abstractmethod
    def named(self, ids: Sequence[str]) -> dict[str, int]:
        """Live rows by id, as far as there are any."""

    @abstractmethod
    def names(self, seqs: Sequence[int]) -> list[str]: ...

    @abstractmethod
    def ids_from(self, beginning: str, most: int = 20) -> list[str]: ...

    @abstractmethod
    def kinds(self) -> dict[str, set[str]]: ...

    @property
    @abstractmethod
    def capabilities(self) -> frozenset[str]: ...

    @abstractmethod
    def lacks(self, capability: str) -> str: ...

    @abstractmethod
    def nearest(self, query: Query, k: int) -> Found: ...

    @abstractmethod
    def vectors(self, rows: Rows) -> Vectors: ...

    # -- identity

    @cached_property
    def digest(self) -> str:
        """Covers the live rows (as sums of their digests, which no order of arrival can change), analyser and model."""
        halves = np.frombuffer(self._marks, "<u8").reshape(-1, 2)
        sums = halves.sum(axis=0, dtype=np.uint64).tolist()
        said = f"{sums}|{self.size}|{self.all_first}|{self.analyser.digest}|{self._model}"
        return hashlib.sha256(said.encode()).hexdigest()

    @property
    def size(self) -> int:
        return self.roll.size

    # -- finding

    def lexical(self, query: Query, k: int) -> Found:
        terms, lists, notes = self._asked(query)
        if not terms or not self.size:
            return Found(np.empty(0, np.int64), (), ideal=0.0, notes=notes)
        found = scan(self.roll, lists, k, self._allowed(query), self.all_first)
        if self.all_first and len(terms) > 1:
            notes = (*notes, _said(found.whole, len(terms), found.broadened))
        scored = found.scored
        rows = self.roll.seqs[scored.rows]
        place = self._best(rows, scored.score, k)
        parts = tuple(Part(t, "add", line) for t, line in zip(terms, scored.given[:, place], strict=True))
        return Found(rows[place], parts, scored.ideal, notes)

    def lexical_at(self, query: Query, rows: Rows) -> Found:
        terms, lists, notes = self._asked(query)
        if not terms or not self.size:
            return Found(rows, (), ideal=0.0, notes=notes)
        scored = rate(self.roll, lists, self.roll.places(rows)[0])
        parts = tuple(Part(t, "add", line) for t, line in zip(terms, scored.given, strict=True))
        return Found(rows, parts, scored.ideal, notes)

    def _asked(self, query: Query) -> tuple[list[str], list[Posting], tuple[Note, ...]]:
        """The terms of a query with their postings; of a very long one, its rarest."""
        terms = self.analyser.query_terms(query.text)
        lists = self._live(terms)
        if len(terms) <= MOST_TERMS:
            return terms, lists, ()
        chosen, said = rarest(terms, self.roll.weights(lists))
        return [terms[i] for i in chosen], [lists[i] for i in chosen], (said,)

    def exact(self, query: Query, k: int) -> Found:
        """Chunks that hold the query's identifiers and quoted phrases letter for letter.

        Each key weighs its rarest term's idf; a chunk scores the weight of the keys it holds over that of all.
        """
        keys = [(key, terms) for key in identifiers(query.text)[:MOST_KEYS] if (terms := sorted(set(self.terms(key))))]
        allowed = self._allowed(query)
        found: list[tuple[str, float, Rows]] = []
        for key, terms in keys:
            lists = self._live(terms)
            found.append((key, float(self.roll.weights(lists).max()), self._holding(key, lists, allowed)))
        return keys_found(found, lambda rows, score: self._best(rows, score, k))

    def _holding(self, key: str, lists: Sequence[Posting], allowed: Mask | None) -> Rows:
        """Rows that hold every term of a key, and then the key itself; ascending."""
        places = lists[0][0]
        for other, _ in lists[1:]:
            places = np.intersect1d(places, other, assume_unique=True)
        rows = self.roll.seqs[places if allowed is None else places[allowed[places]]]
        return letter_for_letter(key, rows, self.chunks)

    def _live(self, terms: Sequence[str]) -> list[Posting]:
        """The postings of terms by places in this view."""
        return [self.roll.placed(posting) for posting in self.postings(terms)]

    def _best(self, rows: Rows, scores: Floats, k: int) -> Rows:
        return best(rows, scores, k, self.ids)

    # -- who may be found

    def _allowed(self, query: Query) -> Mask | None:
        """Places that a query may see; None for all."""
        return self._eligible(query.where, query.at, query.scope)

    def _eligible(self, where: Filter | None, at: float | None, scope: str | None) -> Mask | None:
        if where is None and at is None and scope is None:
            return None
        return self._masks.get(where, at, scope, lambda: self.roll.mask(self.passing(where, at, scope)))

    def matches(self, expression: str, rows: Rows) -> Mask:
        return np.isin(rows, self.passing(parse(expression), None, None))

    def live_rows(self, where: Filter | None) -> Rows:
        found = self._eligible(where, None, None)
        rows = self.roll.seqs if found is None else self.roll.seqs[found]
        order = np.argsort(np.array(self.names(rows.tolist()), np.str_), kind="stable")
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
        found = self.named(wanted)
        return np.array([found.get(name, -1) for name in wanted], np.int64)

    def ids(self, rows: Rows) -> Ids:
        return np.array(self.names(rows.tolist()), np.str_)

    def chunks(self, rows: Rows) -> list[Chunk]:
        return [row.chunk for row in self.read(rows.tolist())]

    def numbers(self, name: str, rows: Rows) -> Floats:
        return np.array([number_of(chunk, name) for chunk in self.chunks(rows)], np.float64)

    def terms(self, text: str) -> list[str]:
        return self.analyser.terms(text)

    def term_weights(self, text: str) -> Mapping[str, float]:
        terms = self.analyser.query_terms(text)
        return dict(zip(terms, self.roll.weights(self._live(terms)).tolist(), strict=True))


def _said(whole: int, terms: int, broadened: bool) -> Note:
    """Which way the words were matched: part of the record of an answer."""
    held = f"all {terms} terms stand in {whole} chunk{'' if whole == 1 else 's'}"
    return Note("info", f"{held}: too few, so those with any of them were ranked" if broadened else held)
