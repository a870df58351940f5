"""What the last few filters let through. All legs of a question ask the same, maybe at once, and often the next
question too."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from assay.where import Filter

T = TypeVar("T")

_MOST = 16


class FilterCache(Generic[T]):
    """Answers of one immutable view, by (filter, moment, scope); found once, while whoever asks the same waits."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, float | None, str | None], T] = {}
        self._lock = threading.Lock()

    def get(self, where: Filter | None, at: float | None, scope: str | None, find: Callable[[], T]) -> T:
        key = (str(where), at, scope)  # a filter's words: as values, `n = 1` and `n = true` are equal in Python
        with self._lock:
            if key not in self._known:
                if len(self._known) >= _MOST:
                    self._known.clear()
                self._known[key] = find()
            return self._known[key]
