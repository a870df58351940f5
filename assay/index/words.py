"""The word index of a generation: postings for exact scoring, and tantivy to propose candidates in large stores.

Postings are three arrays: for term t, rows[start[t]:start[t+1]] ascending with their term frequencies. Exact scoring
reads the frequency of t in given rows by binary search. `sequence` has the terms of every row in their order; a
generation of an earlier version lacks it until it is built anew.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.engine.term_hits import TermHits
from assay.index.checksums import FolderChecks
from assay.index.strings import StringColumn
from assay.types import Floats, Rows

TANTIVY_FROM = 20_000
"""Rows from which tantivy is built; below, scanning the postings is faster."""


class WordIndex:
    """Read-only view of the word index in a generation's folder."""

    def __init__(self, folder: Path, checks: FolderChecks | None = None) -> None:
        self._folder = folder
        self._checks = checks
        if checks is not None:
            checks.verify("terms.blob", "terms.offsets", "postings.start", "lengths")
        self._rows_checks = checks.blocks("postings.rows") if checks else None
        self._counts_checks = checks.blocks("postings.counts") if checks else None
        self._sequence_checks = checks.blocks("sequence") if checks else None
        self._terms = StringColumn(folder / "terms")
        self._start = np.fromfile(folder / "postings.start", "<i8")
        self._rows = memory_map(folder / "postings.rows", np.int32)
        self._counts = memory_map(folder / "postings.counts", np.uint16)
        self.lengths = np.fromfile(folder / "lengths", "<u4")
        self.total = int(self.lengths.sum(dtype=np.int64))
        self.proposes = (folder / "tantivy").is_dir()
        self._zero_columns: list[Floats] = []
        self._term_tables: list[NDArray[np.int32]] = []
        self.term = lru_cache(maxsize=65_536)(self._terms.find)
        """The number of a term, or -1."""
        self._span = lru_cache(maxsize=65_536)(self._find_span)
        """Where a term's postings begin and end."""

    @property
    def size(self) -> int:
        return len(self.lengths)

    def frequency(self, term: int) -> int:
        """Return how many rows contain a term."""
        start, end = self._span(term)
        return end - start

    def _find_span(self, term: int) -> tuple[int, int]:
        if term < 0:
            return 0, 0
        start, end = int(self._start[term]), int(self._start[term + 1])
        self._verify(start, end)
        return start, end

    def _verify(self, start: int, end: int) -> None:
        """Verify a range of postings."""
        if self._rows_checks is not None:
            self._rows_checks.verify_bytes(4 * start, 4 * end)
        if self._counts_checks is not None:
            self._counts_checks.verify_bytes(2 * start, 2 * end)

    def postings(self, term: int) -> tuple[NDArray[np.int32], NDArray[np.uint16]]:
        start, end = self._span(term)
        return self._rows[start:end], self._counts[start:end]

    @property
    def vocabulary(self) -> int:
        """The number of terms."""
        return len(self._terms)

    def text(self, term: int) -> str:
        """Return a term by its number."""
        return self._terms.at(term)

    def blocks(self, size: int) -> Iterator[tuple[int, Rows, NDArray[np.int32], NDArray[np.uint16]]]:
        """Yield the postings of all terms in blocks of whole terms with about `size` postings: the first term, where
        the postings of each term begin in the block, rows, counts."""
        first = 0
        while first < len(self._terms):
            end = max(first + 1, int(np.searchsorted(self._start, self._start[first] + size, side="right")) - 1)
            span = slice(int(self._start[first]), int(self._start[end]))
            self._verify(span.start, span.stop)
            yield first, self._start[first : end + 1] - self._start[first], self._rows[span], self._counts[span]
            first = end

    def counts(self, terms: Sequence[int], rows: NDArray[np.int32]) -> NDArray[np.uint16]:
        """Return how often each term occurs in each of these rows: one line per term."""
        places = np.empty((len(terms), len(rows)), np.int64)
        ends = np.empty((len(terms), 1), np.int64)
        for line, term in enumerate(terms):
            start, end = self._span(term)
            places[line] = self._rows[start:end].searchsorted(rows)
            places[line] += start
            ends[line] = end
        if not len(self._rows):
            return np.zeros(places.shape, np.uint16)
        # One lookup for all places: past a term's end is the row of another term, so the end is compared too.
        present = (self._rows.take(places, mode="clip") == rows) & (places < ends)
        frequencies: NDArray[np.uint16] = self._counts.take(places, mode="clip") * present
        return frequencies

    def counts_by_pair(self, terms: Sequence[int], groups: Sequence[Rows]) -> NDArray[np.uint16]:
        """Return how often each term occurs in the rows of its own group, one group after the other."""
        sizes = [len(group) for group in groups]
        places, ends, first = np.empty(sum(sizes), np.int64), np.empty(len(terms), np.int64), 0
        for line, (term, group) in enumerate(zip(terms, groups, strict=True)):
            start, ends[line] = self._span(term)
            end = first + len(group)
            places[first:end] = self._rows[start : ends[line]].searchsorted(group.astype(np.int32))
            places[first:end] += start
            first = end
        if not len(self._rows):
            return np.zeros(len(places), np.uint16)
        rows = np.concatenate([np.empty(0, np.int64), *groups])
        present = (self._rows.take(places, mode="clip") == rows) & (places < np.repeat(ends, sizes))
        frequencies: NDArray[np.uint16] = self._counts.take(places, mode="clip") * present
        return frequencies

    @cached_property
    def _sequence(self) -> NDArray[np.int32] | None:
        path = self._folder / "sequence"
        return memory_map(path, np.int32) if path.exists() else None

    @property
    def knows_positions(self) -> bool:
        return self._sequence is not None

    @cached_property
    def _ends(self) -> Rows:
        """Where the sequence of each row ends."""
        return np.cumsum(self.lengths, dtype=np.int64)

    def find_terms(self, rows: Rows, terms: Sequence[int]) -> TermHits:
        """Return every occurrence of these terms in these rows. Numbers below 0 occur nowhere."""
        assert self._sequence is not None
        lengths = self.lengths[rows].astype(np.int64)
        ends = np.cumsum(lengths)
        places = np.arange(int(ends[-1]) if len(ends) else 0)
        if self._sequence_checks is not None:
            self._sequence_checks.verify_spans(4 * (self._ends[rows] - lengths), 4 * self._ends[rows])
        read = self._sequence.take(places + np.repeat(self._ends[rows] - ends, lengths))
        with self._borrow_term_table() as table:
            known = np.array(terms, np.int64)
            known_places = np.flatnonzero(known >= 0)
            table[known[known_places]] = known_places
            term = table.take(read)
            table[known[known_places]] = -1
        found = np.flatnonzero(term >= 0)
        chunk = np.searchsorted(ends, found, side="right")
        return TermHits(chunk, found - (ends - lengths)[chunk], term[found].astype(np.int64), lengths)

    @contextlib.contextmanager
    def _borrow_term_table(self) -> Iterator[NDArray[np.int32]]:
        """Lend a table with one entry, -1, for each term, to be returned as it was."""
        try:
            table = self._term_tables.pop()
        except IndexError:
            table = np.full(self.vocabulary, -1, np.int32)
        yield table
        self._term_tables.append(table)  # not after an error: it may hold other entries

    @contextlib.contextmanager
    def borrow_zeros(self) -> Iterator[Floats]:
        """Lend a column of zeros, one for each row, to be returned zeroed: allocating one costs more than a search."""
        try:
            column = self._zero_columns.pop()
        except IndexError:
            column = np.zeros(self.size)
        yield column
        self._zero_columns.append(column)  # not after an error: it may not be zero

    @cached_property
    def _engine(self) -> tuple[Any, Any]:
        import tantivy

        if self._checks is not None:
            self._checks.verify_below("tantivy")
        index = tantivy.Index.open(str(self._folder / "tantivy"))
        return index, index.searcher()

    def propose(self, terms: Sequence[str], boosts: Floats, k: int) -> tuple[Rows, NDArray[np.float32]]:
        """Return tantivy's best k rows with its scores, each term's multiplied by its boost, best first; they are
        rescored exactly."""
        import tantivy

        index, searcher = self._engine
        clauses = []
        for term, boost in zip(terms, boosts.tolist(), strict=True):
            query = tantivy.Query.term_query(index.schema, "body", term, "freq")
            clauses.append((tantivy.Occur.Should, query if boost == 1.0 else tantivy.Query.boost_query(query, boost)))
        hits = searcher.search(tantivy.Query.boolean_query(clauses), limit=k, count=False).hits
        if not hits:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        rows = searcher.fast_field_values("row", [address for _, address in hits])
        return np.array(rows, np.int64), np.array([score for score, _ in hits], np.float32)


def memory_map(path: Path, kind: Any) -> NDArray[Any]:
    """Memory-map a file of numbers; an empty file gives an empty array."""
    if path.stat().st_size == 0:
        return np.empty(0, kind)
    return np.memmap(path, kind, "r").view(np.ndarray)  # slicing a memmap object itself is slow
