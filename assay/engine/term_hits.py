"""Where terms are in chunks: from the index if a snapshot keeps the order of terms, else from the texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from assay.protocols import Snapshot, implements
from assay.types import Chunk, Rows


@dataclass(frozen=True, slots=True, eq=False)
class TermHits:
    """Every occurrence of some terms in some chunks, in the order of chunks and positions.

    chunk      the place of the chunk         position   which of the chunk's terms it is, from 0
    term       the place of the term          lengths    how many terms each chunk has
    """

    chunk: Rows
    position: Rows
    term: Rows
    lengths: Rows

    @classmethod
    def of_texts(cls, texts: Iterable[Sequence[str]], terms: Sequence[str]) -> TermHits:
        """The hits in chunks whose terms are given in their order."""
        number = {term: place for place, term in enumerate(terms)}
        lengths, found = [], []
        for chunk, sequence in enumerate(texts):
            lengths.append(len(sequence))
            found += [(chunk, place, number[term]) for place, term in enumerate(sequence) if term in number]
        columns = np.array(found, np.int64).reshape(-1, 3).T
        return cls(columns[0], columns[1], columns[2], np.array(lengths, np.int64))

    @classmethod
    def join(cls, parts: Sequence[tuple[Rows, TermHits]]) -> TermHits:
        """The hits of several groups of chunks as those of all; each comes with the places of its chunks."""
        lengths = np.zeros(sum(len(places) for places, _ in parts), np.int64)
        for places, hits in parts:
            lengths[places] = hits.lengths
        chunk = np.concatenate([places[hits.chunk] for places, hits in parts])
        order = np.argsort(chunk, kind="stable")
        position, term = (
            np.concatenate([getattr(hits, name) for _, hits in parts])[order] for name in ("position", "term")
        )
        return cls(chunk[order], position, term, lengths)


@runtime_checkable
class TermSnapshot(Protocol):
    """A snapshot that knows the order of the terms in its chunks, and their documents, without reading texts."""

    def find_terms(self, rows: Rows, terms: Sequence[str]) -> TermHits: ...

    def documents(self, rows: Rows) -> Rows:
        """A number per row, equal for chunks of one document."""
        ...


def find_terms(snapshot: Snapshot, rows: Rows, terms: Sequence[str]) -> TermHits:
    """Where these terms, each once, are in the chunks of these rows."""
    if implements(type(snapshot), TermSnapshot):
        return snapshot.find_terms(rows, terms)  # type: ignore[attr-defined, no-any-return]
    return TermHits.of_texts((snapshot.terms(chunk.indexed_text) for chunk in snapshot.chunks(rows)), terms)


def documents_of(snapshot: Snapshot, rows: Rows) -> Rows:
    """A number per row, equal for chunks of one document."""
    if implements(type(snapshot), TermSnapshot):
        return snapshot.documents(rows)  # type: ignore[attr-defined, no-any-return]
    return number_documents(snapshot.chunks(rows))


def number_documents(chunks: Iterable[Chunk]) -> Rows:
    """A number per chunk, equal for chunks of one document."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(chunk.doc_id, len(numbers)) for chunk in chunks], np.int64)
