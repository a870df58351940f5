"""A snapshot that passes every look-up to another; subclasses override what they change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from assay.engine.digests import contents_digest
from assay.engine.term_hits import TermHits, documents_of, find_terms
from assay.errors import Reason, StoreError
from assay.protocols import (
    DEFAULT_WEIGHTING,
    EntityPostings,
    EntitySnapshot,
    GraphSnapshot,
    Matches,
    Snapshot,
    TermWeighting,
    TreeSnapshot,
    TreeView,
    WalkSettings,
)
from assay.types import Chunk, Floats, Ids, Query, Rows, Vectors


class SnapshotProxy:
    """Passes every look-up to the snapshot `inner`."""

    def __init__(self, inner: Snapshot) -> None:
        self.inner = inner

    @property
    def digest(self) -> str:
        return self.inner.digest

    def contents_digest(self, uses: frozenset[str]) -> str:
        return contents_digest(self.inner, uses)

    @property
    def capabilities(self) -> frozenset[str]:
        return self.inner.capabilities

    @property
    def size(self) -> int:
        return self.inner.size

    def lacks(self, capability: str) -> Reason | None:
        return self.inner.lacks(capability)

    def lexical(self, query: Query, k: int, weighting: TermWeighting = DEFAULT_WEIGHTING) -> Matches:
        return self.inner.lexical(query, k, weighting)

    def lexical_at(self, query: Query, rows: Rows, weighting: TermWeighting = DEFAULT_WEIGHTING) -> Matches:
        return self.inner.lexical_at(query, rows, weighting)

    def nearest(self, query: Query, k: int) -> Matches:
        return self.inner.nearest(query, k)

    def exact(self, query: Query, k: int) -> Matches:
        return self.inner.exact(query, k)

    def related(self, query: Query, k: int, walk: WalkSettings) -> Matches:
        if not isinstance(self.inner, GraphSnapshot):
            raise StoreError("this store has no graph", "use a store that has")
        return self.inner.related(query, k, walk)

    def spelling(self, text: str, key: str) -> str:
        return self.inner.spelling(text, key) if isinstance(self.inner, GraphSnapshot) else key

    def entities(self) -> EntityPostings:
        if not isinstance(self.inner, EntitySnapshot):
            raise StoreError("this store has no cross-links", "use a store in a folder")
        return self.inner.entities()

    def tree(self) -> TreeView:
        if not isinstance(self.inner, TreeSnapshot):
            raise StoreError("this store has no tree", "use a store in a folder")
        return self.inner.tree()

    def rows(self, ids: Ids) -> Rows:
        return self.inner.rows(ids)

    def ids(self, rows: Rows) -> Ids:
        return self.inner.ids(rows)

    def chunks(self, rows: Rows) -> list[Chunk]:
        return self.inner.chunks(rows)

    def vectors(self, rows: Rows) -> Vectors:
        return self.inner.vectors(rows)

    def numbers(self, name: str, rows: Rows) -> Floats:
        return self.inner.numbers(name, rows)

    def matches(self, expression: str, rows: Rows) -> NDArray[np.bool_]:
        return self.inner.matches(expression, rows)

    def find_terms(self, rows: Rows, terms: Sequence[str]) -> TermHits:
        return find_terms(self.inner, rows, terms)

    def documents(self, rows: Rows) -> Rows:
        return documents_of(self.inner, rows)

    def term_weights(self, text: str) -> Mapping[str, float]:
        return self.inner.term_weights(text)

    def terms(self, text: str) -> list[str]:
        return self.inner.terms(text)
