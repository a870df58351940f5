"""A snapshot that remembers its look-ups, so that one leg search serves every system that asks the same of it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping

import numpy as np
from numpy.typing import NDArray

from assay.errors import StoreError
from assay.protocols import Found, Related, Snapshot, Walk
from assay.types import Chunk, Floats, Ids, Query, Rows, Vectors


class Remembering:
    """The snapshot `inner`; look-ups with equal queries and depths are made once. Everything else passes through.

    It answers as `inner` does, byte for byte: what it keeps are the frozen values `inner` gave.
    """

    def __init__(self, inner: Snapshot) -> None:
        self.inner = inner
        self.searched = self.recalled = 0
        self._found: dict[Hashable, Found] = {}

    def _once(self, kind: str, query: Query, k: int, look: Callable[[Query, int], Found]) -> Found:
        vector = None if query.vector is None else query.vector.tobytes()
        key = (kind, k, query.text, vector, str(query.where), query.at, query.scope)
        found = self._found.get(key)
        if found is None:
            self.searched += 1
            found = self._found[key] = look(query, k)
        else:
            self.recalled += 1
        return found

    def lexical(self, query: Query, k: int) -> Found:
        return self._once("lexical", query, k, self.inner.lexical)

    def lexical_at(self, query: Query, rows: Rows) -> Found:
        return self.inner.lexical_at(query, rows)

    def nearest(self, query: Query, k: int) -> Found:
        return self._once("nearest", query, k, self.inner.nearest)

    def exact(self, query: Query, k: int) -> Found:
        return self._once("exact", query, k, self.inner.exact)

    def related(self, query: Query, k: int, walk: Walk) -> Found:
        if not isinstance(self.inner, Related):
            raise StoreError("this store has no graph", "use a store that has")
        how = (walk.seeds.tobytes(), walk.damping, walk.entity_share, walk.keep, walk.least)
        inner = self.inner
        return self._once(f"related {how}", query, k, lambda asked, most: inner.related(asked, most, walk))

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
