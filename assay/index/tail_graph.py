"""The graph of the tail: the mentions of rows written since the generation. Append-only, filled on first use.

Keys of the generation have its numbers; new ones follow, in the order of insertion. A pair is a thing only where it is
one in the generation, and a word rejected as a name there is rejected here: the statistics are the generation's.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assay.index.graph import GraphIndex
from assay.index.mentions import ADDRESS, CLASSES, PAIR, extract_mentions
from assay.types import Chunk

Lists = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.uint8]]
"""Where each row's things begin, the things, and their bits."""


class TailGraph:
    """Snapshots share one graph; each reads its own first rows."""

    def __init__(self, base: GraphIndex | None, language: str) -> None:
        self._base = base
        self._language = language
        self._first_new = base.size if base else 0
        self._lock = threading.Lock()
        self._new: dict[str, int] = {}
        self._keys: list[str] = []
        self._start = array("q", [0])
        self._things = array("i")
        self._bits = array("B")

    def read_up_to(self, chunks: Sequence[Chunk], size: int) -> Lists:
        """Return (start, things, bits) of the first `size` rows; rows not read yet are read now."""
        with self._lock:
            for place in range(len(self._start) - 1, size):
                self._add(chunks[place])
            # Slices are copies: an array cannot grow while numpy has its buffer.
            start = np.array(self._start[: size + 1], np.int64)
            end = int(start[-1])
            return start, np.array(self._things[:end], np.int32), np.array(self._bits[:end], np.uint8)

    def _add(self, chunk: Chunk) -> None:
        bits_of: dict[int, int] = {}
        for mention in extract_mentions(chunk, self._language):
            bit = CLASSES[mention[-1]]
            number = self.find(mention[:-2])
            if bit & PAIR:
                if number < 0 or number >= self._first_new or self._base is None or not self._base.is_pair[number]:
                    continue
            elif self._base is not None and 0 <= number < self._first_new and self._base.is_rejected(number):
                continue
            elif number < 0:
                number = self._new[mention[:-2]] = self._first_new + len(self._keys)
                self._keys.append(mention[:-2])
            bits_of[number] = bits_of.get(number, 0) | bit
        for number, bits in sorted(bits_of.items()):
            self._things.append(number)
            self._bits.append(bits)
        self._start.append(len(self._things))

    def find(self, key: str) -> int:
        """Return the number of a key with its table, or -1."""
        number = self._base.find(key) if self._base else -1
        return number if number >= 0 else self._new.get(key, -1)

    def key(self, number: int) -> str:
        if self._base is not None and number < self._first_new:
            return self._base.key(number)
        return self._keys[number - self._first_new]

    def size(self) -> int:
        """Return the number of things so far, the generation's included."""
        return self._first_new + len(self._keys)

    def new_addresses(self, size: int) -> NDArray[np.bool_]:
        """Return which of the things after the generation's, up to `size`, are addresses."""
        return np.array([key.startswith(ADDRESS) for key in self._keys[: size - self._first_new]], np.bool_)
