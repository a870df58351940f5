"""The tail: rows written since the generation, in memory, searched exactly, append-only.

Snapshots share one tail; each reads only the rows that existed when it was taken.
"""

from __future__ import annotations

import math
import threading
from array import array
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assay.engine.chunk_columns import ChunkColumns
from assay.engine.term_hits import TermHits
from assay.index.external_sort import Numbering
from assay.index.graph import GraphIndex
from assay.index.tail_graph import TailGraph
from assay.index.tail_tree import TailTree
from assay.index.tree.index import TreeIndex
from assay.store.contents_digest import mark_row
from assay.store.rows import ChunkRow
from assay.text.analyser import Analyser
from assay.types import Chunk, Rows, Vector, Vectors

_NONE = (array("i"), array("H"))


class Tail:
    """Rows since the generation; positions count from 0 in the order of insertion."""

    def __init__(self, analyser: Analyser, dim: int) -> None:
        self._analyser = analyser
        self.chunks: list[Chunk] = []
        self.rows: list[ChunkRow] = []
        self.marks: list[bytes] = []
        """Of each row with its vector (`store/contents_digest`)."""
        self.lengths = array("I")
        self.newest = -math.inf
        """The latest creation time of a row."""
        self.columns = ChunkColumns()
        self._postings: dict[str, tuple[array[int], array[int]]] = {}
        self._numbers = Numbering()
        self._sequences: list[array[int]] = []
        """The terms of every row, as numbers, in their order."""
        self._vectors = np.zeros((64, dim), np.float32)
        self._graph: TailGraph | None = None
        self._trees: dict[str, TailTree] = {}
        self._graph_lock = threading.Lock()

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, row: ChunkRow, vector: Vector | None) -> None:
        place = len(self.rows)
        terms = self._analyser.terms(row.chunk.indexed_text)
        for term, count in Counter(terms).items():
            rows, counts = self._postings.setdefault(term, (array("i"), array("H")))
            rows.append(place)
            counts.append(min(count, 65_535))
        self._sequences.append(array("i", map(self._numbers.__getitem__, terms)))
        self.lengths.append(len(terms))
        if place == len(self._vectors):
            grown = np.zeros((place * 2, self._vectors.shape[1]), np.float32)
            grown[:place] = self._vectors
            self._vectors = grown
        if vector is not None:
            self._vectors[place] = vector
        if row.chunk.created > self.newest:
            self.newest = row.chunk.created
        self.chunks.append(row.chunk)
        self.columns.add(place, row.chunk)
        self.marks.append(mark_row(row.facts, vector))
        self.rows.append(row)

    def postings(self, term: str, size: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the positions below `size` that hold a term, ascending, with its counts."""
        rows, counts = self._postings.get(term, _NONE)
        # Slices are copies: another thread may append meanwhile, and an array cannot grow while numpy has its buffer.
        places = np.array(rows[:], np.int64)
        known = len(places) if not len(places) or places[-1] < size else int(np.searchsorted(places, size))
        return places[:known], np.array(counts[:known], np.float64)

    def find_terms(self, places: Rows, terms: Sequence[str]) -> TermHits:
        """Return every occurrence of these terms in the rows at these positions."""
        sequences = [np.frombuffer(self._sequences[place], np.int32) for place in places.tolist()]
        numbers = {number: place for place, term in enumerate(terms) if (number := self._numbers.get(term)) is not None}
        wanted = np.array(sorted(numbers), np.int32)
        term_of = np.array([numbers[number] for number in wanted.tolist()], np.int64)
        lengths = np.array([len(sequence) for sequence in sequences], np.int64)
        read = np.concatenate(sequences) if sequences else np.empty(0, np.int32)
        found = np.flatnonzero(np.isin(read, wanted))
        chunk = np.repeat(np.arange(len(places)), lengths)[found]
        position = found - (np.cumsum(lengths) - lengths)[chunk]
        return TermHits(chunk, position, term_of[np.searchsorted(wanted, read[found])], lengths)

    def graph(self, known: GraphIndex | None) -> TailGraph:
        """Return the graph of the tail's rows, which extends the graph of its generation."""
        with self._graph_lock:
            if self._graph is None:
                self._graph = TailGraph(known, self._analyser.language)
            return self._graph

    def tree(self, known: TreeIndex) -> TailTree:
        """Return the leaves of the tail's rows in a tree of its generation."""
        with self._graph_lock:
            if known.digest not in self._trees:
                self._trees = {known.digest: TailTree(known)}
            return self._trees[known.digest]

    def vectors(self, size: int) -> Vectors:
        return self._vectors[:size]
