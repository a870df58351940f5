"""Contexts that are packed once: the race ends in the ranking of one of its paths, and its context is the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.bench.types import Piece
from assay.engine.context import PackCandidate, Packer
from assay.types import Query

MOST_POOLS = 1_024
"""Pools whose contexts are held."""
Packing = tuple[tuple[Piece, ...], tuple[str, ...]]
"""The pieces of a context, and what the packer did without."""


@dataclass
class PackingCache:
    """Contexts by budget, of the last pools only."""

    _pools: dict[Any, dict[int, Packing]] = field(default_factory=dict)

    def find(self, packer: Packer, query: Query, candidates: Sequence[PackCandidate]) -> dict[int, Packing]:
        """What is known of this pool, to be completed by the caller."""
        pool = tuple((one.citation, one.chunk.id, one.score) for one in candidates)
        key = (repr(packer), query.id, query.text, pool)
        found = self._pools.setdefault(key, {})
        while len(self._pools) > MOST_POOLS:
            del self._pools[next(iter(self._pools))]
        return found
