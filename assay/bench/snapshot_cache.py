"""A snapshot that remembers its look-ups, so that one leg search serves every system that asks the same of it."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from assay.engine.snapshot_proxy import SnapshotProxy
from assay.protocols import Found, Snapshot, Walk
from assay.types import Query


class Remembering(SnapshotProxy):
    """The snapshot `inner`; look-ups with equal queries and depths are made once.

    It answers as `inner` does, byte for byte: what it keeps are the frozen values `inner` gave.
    """

    def __init__(self, inner: Snapshot) -> None:
        super().__init__(inner)
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

    def nearest(self, query: Query, k: int) -> Found:
        return self._once("nearest", query, k, self.inner.nearest)

    def exact(self, query: Query, k: int) -> Found:
        return self._once("exact", query, k, self.inner.exact)

    def related(self, query: Query, k: int, walk: Walk) -> Found:
        how = (walk.seeds.tobytes(), walk.damping, walk.entity_share, walk.keep, walk.least)
        look = super().related
        return self._once(f"related {how}", query, k, lambda asked, most: look(asked, most, walk))
