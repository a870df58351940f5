"""The graph of the tail: what rows written since the generation speak of. Append-only, filled when first asked for.

Keys the generation knows have its numbers; new ones count on from there, in the order of arrival. A pair is a thing
only where the generation found it to be one, and a word that it found to be no name is none here either: statistics are
the generation's.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assay.index.graph import GraphIndex
from assay.index.mentions import ADDRESS, CLASSES, PAIR, candidates
from assay.types import Chunk

Lists = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.uint8]]
"""Where each row's things begin, the things, and their bits."""


class TailGraph:
    """Snapshots share one; each looks at the rows it knows of."""

    def __init__(self, known: GraphIndex | None, language: str) -> None:
        self._known = known
        self._language = language
        self._from = known.size if known else 0
        self._lock = threading.Lock()
        self._new: dict[str, int] = {}
        self._keys: list[str] = []
        self._start = array("q", [0])
        self._things = array("i")
        self._bits = array("B")

    def upto(self, chunks: Sequence[Chunk], size: int) -> Lists:
        """(start, things, bits) of the first `size` rows; rows that were not read yet are read now."""
        with self._lock:
            for place in range(len(self._start) - 1, size):
                self._add(chunks[place])
            # Slices are copies: an array that numpy looks into cannot grow.
            start = np.array(self._start[: size + 1], np.int64)
            end = int(start[-1])
            return start, np.array(self._things[:end], np.int32), np.array(self._bits[:end], np.uint8)

    def _add(self, chunk: Chunk) -> None:
        marks: dict[int, int] = {}
        for said in candidates(chunk, self._language):
            bit = CLASSES[said[-1]]
            number = self.find(said[:-2])
            if bit & PAIR:
                if number < 0 or number >= self._from or self._known is None or not self._known.is_pair[number]:
                    continue
            elif self._known is not None and 0 <= number < self._from and self._known.refused(number):
                continue
            elif number < 0:
                number = self._new[said[:-2]] = self._from + len(self._keys)
                self._keys.append(said[:-2])
            marks[number] = marks.get(number, 0) | bit
        for number, bits in sorted(marks.items()):
            self._things.append(number)
            self._bits.append(bits)
        self._start.append(len(self._things))

    def find(self, key: str) -> int:
        """The number of a key with its table, or -1."""
        found = self._known.find(key) if self._known else -1
        return found if found >= 0 else self._new.get(key, -1)

    def key(self, number: int) -> str:
        if self._known is not None and number < self._from:
            return self._known.key(number)
        return self._keys[number - self._from]

    def size(self) -> int:
        """Things known so far, the generation's included."""
        return self._from + len(self._keys)

    def new_addresses(self, size: int) -> NDArray[np.bool_]:
        """Which of the things from the generation's last up to `size` are addresses."""
        return np.array([key.startswith(ADDRESS) for key in self._keys[: size - self._from]], np.bool_)
