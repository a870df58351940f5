"""Memories of one scope that are accepted and not written yet, so that later ones of a batch are compared with them."""

from __future__ import annotations

from collections.abc import Iterator, Set

import numpy as np

from assay.memory.entries import entry_from_chunks
from assay.memory.types import MemoryEntry
from assay.memory.writer import Draft
from assay.select.similarity import cosines
from assay.types import Vector


class PendingMemories:
    """Drafts in their order, with the terms and the first vector of each."""

    def __init__(self) -> None:
        self.drafts: list[Draft] = []
        self._entries: list[MemoryEntry] = []
        self._terms: list[Set[str]] = []
        self._vectors: list[Vector | None] = []

    @property
    def chunks(self) -> int:
        return sum(len(draft.chunks) for draft in self.drafts)

    def add(self, draft: Draft, terms: Set[str]) -> None:
        self.drafts.append(draft)
        self._entries.append(entry_from_chunks(draft.chunks))
        self._terms.append(terms)
        self._vectors.append(draft.vectors[0])

    def neighbours(
        self, terms: Set[str], vector: Vector | None, at: float, count: int, least: float
    ) -> Iterator[tuple[MemoryEntry, float | None]]:
        """The drafts nearest to a text by vector, and by terms, each with its cosine: those that reach a least cosine
        or overlap, and do not expire by a moment."""
        if not self.drafts:
            return
        likeness = np.array([len(terms & own) / (len(terms | own) or 1) for own in self._terms], np.float64)
        nearest = np.argsort(-likeness, kind="stable")[:count]
        cosine = np.zeros(len(likeness))
        if vector is not None:
            known = [(np.zeros_like(vector) if own is None else own) for own in self._vectors]
            cosine = cosines(np.stack(known).astype(np.float64), vector.astype(np.float64))
            nearest = np.union1d(nearest, np.argsort(-cosine, kind="stable")[:count])
        for place in nearest[np.maximum(likeness, cosine)[nearest] >= least].tolist():
            entry = self._entries[place]
            if entry.expires is None or entry.expires > at:
                yield entry, None if vector is None else float(cosine[place])
