"""A snapshot around another: whoever wraps one says what it does differently, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from assay.errors import StoreError
from assay.protocols import Found, Related, Snapshot, Walk
from assay.types import Chunk, Floats, Ids, Query, Rows, Vectors


class SnapshotProxy:
    """The snapshot `inner`; every look-up passes through."""

    def __init__(self, inner: Snapshot) -> None:
        self.inner = inner

    @property
    def digest(self) -> str:
        return self.inner.digest

    @property
    def capabilities(self) -> frozenset[str]:
        return self.inner.capabilities

    @property
    def size(self) -> int:
        return self.inner.size

    def lacks(self, capability: str) -> str:
        return self.inner.lacks(capability)

    def lexical(self, query: Query, k: int) -> Found:
        return self.inner.lexical(query, k)

    def lexical_at(self, query: Query, rows: Rows) -> Found:
        return self.inner.lexical_at(query, rows)

    def nearest(self, query: Query, k: int) -> Found:
        return self.inner.nearest(query, k)

    def exact(self, query: Query, k: int) -> Found:
        return self.inner.exact(query, k)

    def related(self, query: Query, k: int, walk: Walk) -> Found:
        if not isinstance(self.inner, Related):
            raise StoreError("this store has no graph", "use a store that has")
        return self.inner.related(query, k, walk)

    def spelling(self, text: str, key: str) -> str:
        return self.inner.spelling(text, key) if isinstance(self.inner, Related) else key

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

    def term_weights(self, text: str) -> Mapping[str, float]:
        return self.inner.term_weights(text)

    def terms(self, text: str) -> list[str]:
        return self.inner.terms(text)
