"""Memories of one scope that are accepted and not written yet, so that later ones of a batch are compared with them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Set

import numpy as np

from assay.memory.entries import entry_from_chunks
from assay.memory.types import MemoryEntry
from assay.memory.writer import Draft
from assay.select.similarity import cosines
from assay.types import Floats, Vector


class PendingMemories:
    """Drafts in their order, with the terms and the first vector of each."""

    def __init__(self) -> None:
        self.drafts: list[Draft] = []
        self._entries: list[MemoryEntry] = []
        self._holding: dict[str, list[int]] = defaultdict(list)
        """The places of the drafts that hold a term."""
        self._sizes: list[int] = []
        """How many terms each has."""
        self._vectors = np.zeros((64, 0))
        """Rows of zeros where there is no vector; has room for more drafts."""

    @property
    def chunks(self) -> int:
        return sum(len(draft.chunks) for draft in self.drafts)

    def add(self, draft: Draft, terms: Set[str]) -> None:
        place = len(self.drafts)
        self.drafts.append(draft)
        self._entries.append(entry_from_chunks(draft.chunks))
        self._sizes.append(len(terms))
        for term in terms:
            self._holding[term].append(place)
        vector = draft.vectors[0]
        if vector is not None:
            self._reserve(place + 1, len(vector))
            self._vectors[place] = vector

    def neighbours(
        self, terms: Set[str], vector: Vector | None, at: float, count: int, least: float
    ) -> Iterator[tuple[MemoryEntry, float | None]]:
        """The drafts nearest to a text by vector, and by terms, each with its cosine: those that reach a least cosine
        or overlap, and do not expire by a moment."""
        if not self.drafts:
            return
        likeness = self._overlaps(terms)
        nearest = np.argsort(-likeness, kind="stable")[:count]
        cosine = np.zeros(len(likeness))
        if vector is not None:
            self._reserve(len(likeness), len(vector))
            cosine = cosines(self._vectors[: len(likeness)], vector.astype(np.float64))
            nearest = np.union1d(nearest, np.argsort(-cosine, kind="stable")[:count])
        for place in nearest[np.maximum(likeness, cosine)[nearest] >= least].tolist():
            entry = self._entries[place]
            if entry.expires is None or entry.expires > at:
                yield entry, None if vector is None else float(cosine[place])

    def _overlaps(self, terms: Set[str]) -> Floats:
        """|A ∩ B| / |A ∪ B| of some terms and those of each draft; 0 when both are empty."""
        places = [place for term in terms for place in self._holding.get(term, ())]
        shared = np.bincount(np.array(places, np.int64), minlength=len(self.drafts)).astype(np.float64)
        return shared / np.maximum(len(terms) + np.array(self._sizes, np.float64) - shared, 1.0)

    def _reserve(self, rows: int, dim: int) -> None:
        if rows > len(self._vectors) or dim > self._vectors.shape[1]:
            grown = np.zeros((max(rows, 2 * len(self._vectors)), dim))
            grown[: len(self._vectors), : self._vectors.shape[1]] = self._vectors
            self._vectors = grown
