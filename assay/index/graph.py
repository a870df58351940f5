"""The graph of a generation: things and addresses, the rows that hold them, and the same seen from the rows.

Thing t is held by rows[start[t]:start[t+1]], ascending; row r holds things[start[r]:start[r+1]], ascending. Each
posting has bits (see `mentions`). Keys are sorted: addresses first, then things. Memory-mapped.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.index.mentions import THING
from assay.index.strings import Strings
from assay.index.whole import read_manifest
from assay.index.words import mapped

GRAPH_FORMAT = 2
"""Raised when the same rows would give another graph."""
Ints64 = NDArray[np.int64]


class GraphIndex:
    """Read-only. OSError or ValueError when it is not there, not whole, or of another format."""

    def __init__(self, folder: Path) -> None:
        self.rows_total: int = read_manifest(folder, GRAPH_FORMAT, frozenset({"rows"}))["rows"]
        self._keys = Strings(folder / "keys")
        self.size = len(self._keys)
        self.addresses = self._keys.bisect(THING)
        """Things below this number are addresses."""
        self.start = np.fromfile(folder / "things.start", "<i8")
        self.rows = mapped(folder / "things.rows", np.int32)
        self.bits = mapped(folder / "things.bits", np.uint8)
        self.row_start = np.fromfile(folder / "rows.start", "<i8")
        self.row_things = mapped(folder / "rows.things", np.int32)
        self.row_bits = mapped(folder / "rows.bits", np.uint8)
        self.firm = np.fromfile(folder / "things.firm", "<i4").astype(np.int64)
        self.soft = np.fromfile(folder / "things.soft", "<i4").astype(np.int64)
        self.is_pair = np.fromfile(folder / "things.pair", "<i4") > 0
        self.find = lru_cache(maxsize=65_536)(self._keys.find)
        """The number of a key with its table, or -1."""

    def refused(self, number: int) -> bool:
        """Is this a word that is written large now and then, but no name? Then no row holds it."""
        return bool(self.start[number] == self.start[number + 1])

    def key(self, number: int) -> str:
        """A key with the letter of its table."""
        return self._keys.at(number)


def gather(start: NDArray[Any], chosen: NDArray[Any]) -> tuple[Ints64, Ints64]:
    """Every entry of the lists of some numbers, one list behind the other: (place in `chosen`, place of the entry)."""
    first = start[chosen]
    sizes = start[chosen + 1] - first
    owner = np.repeat(np.arange(len(chosen)), sizes)
    places = np.arange(len(owner)) + np.repeat(first - (np.cumsum(sizes) - sizes), sizes)
    return owner, places
