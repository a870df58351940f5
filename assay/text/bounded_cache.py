"""A bounded cache of values computed for short strings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K", str, bytes)
V = TypeVar("V")

MAX_ENTRIES = 1 << 17  # about 40 MB of words with their terms
MAX_KEY_LENGTH = 64  # characters; longer strings hardly ever repeat


class BoundedCache(dict[K, V], Generic[K, V]):
    """`cache[key]` is `compute(key)`, cached.

    When full it drops the younger half: common words are met early, late ones are rare. Threads may share it: at worst
    two of them compute the same value.
    """

    def __init__(self, compute: Callable[[K], V], entries: int = MAX_ENTRIES) -> None:
        super().__init__()
        self._compute: Callable[[K], V] = compute
        self._entries = entries

    def __missing__(self, key: K) -> V:
        value = self._compute(key)
        if len(key) <= MAX_KEY_LENGTH:
            if len(self) >= self._entries:
                for newer in list(self)[self._entries // 2 :]:
                    self.pop(newer, None)
            self[key] = value
        return value
