"""A bounded memory of what was computed for short strings; what it forgets changes no result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K", str, bytes)
V = TypeVar("V")

ENTRIES = 1 << 17  # about 40 MB of words with their terms
LONGEST = 64  # characters; longer strings hardly ever come back


class Memo(dict[K, V], Generic[K, V]):
    """`memo[key]` is `compute(key)`, remembered.

    When full it forgets the younger half: the words of a language are met early, what comes late is rare.
    Threads may share it: at worst two of them compute the same value.
    """

    def __init__(self, compute: Callable[[K], V], entries: int = ENTRIES) -> None:
        super().__init__()
        self._compute: Callable[[K], V] = compute
        self._entries = entries

    def __missing__(self, key: K) -> V:
        value = self._compute(key)
        if len(key) <= LONGEST:
            if len(self) >= self._entries:
                for young in list(self)[self._entries // 2 :]:
                    self.pop(young, None)
            self[key] = value
        return value
