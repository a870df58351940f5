"""A snapshot that caches its look-ups, so that one search serves every system that makes it."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from assay.engine.snapshot_proxy import SnapshotProxy
from assay.protocols import DEFAULT_WEIGHTING, Matches, Snapshot, TermWeighting, WalkSettings
from assay.types import Query


class CachingSnapshot(SnapshotProxy):
    """The snapshot `inner`; look-ups with equal queries and depths are made once.

    Results are the frozen values of `inner`, so they are the same byte for byte.
    """

    def __init__(self, inner: Snapshot) -> None:
        super().__init__(inner)
        self.searches = self.cache_hits = 0
        self._cache: dict[Hashable, Matches] = {}

    def _look_up(self, kind: str, query: Query, k: int, look: Callable[[Query, int], Matches]) -> Matches:
        # Only `nearest` reads the vector: a system without vectors shares its look-ups with one that has them.
        vector = query.vector.tobytes() if kind == "nearest" and query.vector is not None else None
        key = (kind, k, query.text, vector, str(query.where), query.at, query.scope)
        matches = self._cache.get(key)
        if matches is None:
            self.searches += 1
            matches = self._cache[key] = look(query, k)
        else:
            self.cache_hits += 1
        return matches

    def lexical(self, query: Query, k: int, weighting: TermWeighting = DEFAULT_WEIGHTING) -> Matches:
        look = self.inner.lexical
        return self._look_up(f"lexical {weighting}", query, k, lambda query, k: look(query, k, weighting))

    def nearest(self, query: Query, k: int) -> Matches:
        return self._look_up("nearest", query, k, self.inner.nearest)

    def exact(self, query: Query, k: int) -> Matches:
        return self._look_up("exact", query, k, self.inner.exact)

    def related(self, query: Query, k: int, walk: WalkSettings) -> Matches:
        how = (walk.seeds.tobytes(), walk.damping, walk.entity_share, walk.keep, walk.least)
        look = super().related
        return self._look_up(f"related {how}", query, k, lambda query, k: look(query, k, walk))
