"""Caches the rows that the last few filters let through: all legs of a query use the same filter, often the next query
too."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from assay.where import Filter

T = TypeVar("T")

_MAX_ENTRIES = 16


class FilterCache(Generic[T]):
    """Results for one immutable view, by (filter, moment, scope). Each is computed once, under a lock."""

    def __init__(self) -> None:
        self._results: dict[tuple[str, float | None, str | None], T] = {}
        self._lock = threading.Lock()

    def get(self, where: Filter | None, at: float | None, scope: str | None, compute: Callable[[], T]) -> T:
        key = (str(where), at, scope)  # the filter's text: as values, `n = 1` and `n = true` are equal in Python
        with self._lock:
            if key not in self._results:
                if len(self._results) >= _MAX_ENTRIES:
                    self._results.clear()
                self._results[key] = compute()
            return self._results[key]
