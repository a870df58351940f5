"""The rows of a local snapshot that a query may see: live, and kept by its filter, its moment and its scope."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from assay.backend.shared.filter_cache import FilterCache
from assay.backend.shared.filters import SnapshotColumns
from assay.types import Rows
from assay.where import Filter, Mask

Eligible = tuple[Mask | None, Mask]
"""Rows of the generation, None for all of them, and rows of the tail."""


class EligibleRows:
    """Eligible rows by filter; the last results are cached. `newest` gives the latest creation time of a row."""

    def __init__(
        self,
        columns: Callable[[], SnapshotColumns],
        start: int,
        dead: Rows,
        tail_live: Mask,
        newest: Callable[[], float],
    ) -> None:
        self._columns = columns
        self._start = start
        self._dead = dead
        self._tail_live = tail_live
        self._newest = newest
        self._cache: FilterCache[Eligible] = FilterCache()

    def get(self, where: Filter | None, at: float | None, scope: str | None) -> Eligible:
        if at is not None and at >= self._newest():
            at = None  # hides nothing: most questions are as of now, and every now is another
        return self._cache.get(where, at, scope, lambda: self._find(where, at, scope))

    def _find(self, where: Filter | None, at: float | None, scope: str | None) -> Eligible:
        total = self._start + len(self._tail_live)
        mask: Mask | None = None
        if len(self._dead):
            mask = np.ones(total, np.bool_)
            mask[self._dead] = False
        for chosen in self._conditions(where, at, scope, total):
            mask = chosen if mask is None else mask & chosen
        if mask is None:
            return None, self._tail_live
        return mask[: self._start], mask[self._start :] & self._tail_live

    def _conditions(self, where: Filter | None, at: float | None, scope: str | None, total: int) -> list[Mask]:
        masks = []
        if where is not None:
            masks.append(where.mask(self._columns()))
        if at is not None:
            masks.append(~self._columns().compare("created", ">", at))  # undated chunks are never hidden
        if scope is not None:
            known = "scope" in self._columns().kinds()
            masks.append(self._columns().compare("scope", "=", scope) if known else np.zeros(total, np.bool_))
        return masks
