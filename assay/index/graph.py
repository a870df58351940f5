"""The graph of a generation: postings from things and addresses to rows, and from rows to things.

Thing t occurs in rows[start[t]:start[t+1]], ascending; row r holds things[start[r]:start[r+1]], ascending. Each posting
has bits (see `mentions`). Keys are sorted: addresses first, then things. Memory-mapped.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.index.atomic_folder import read_manifest
from assay.index.mentions import THING
from assay.index.strings import StringColumn
from assay.index.words import memory_map

GRAPH_FORMAT = 2
"""Increased when the same rows would give another graph."""
Ints64 = NDArray[np.int64]


class GraphIndex:
    """A read-only graph. OSError or ValueError when it is missing, incomplete, or of another format."""

    def __init__(self, folder: Path) -> None:
        manifest, checks = read_manifest(folder, GRAPH_FORMAT, frozenset({"rows"}))
        checks.verify_all()
        self.rows_total: int = manifest["rows"]
        self._keys = StringColumn(folder / "keys")
        self.size = len(self._keys)
        self.addresses = self._keys.bisect(THING)
        """Things below this number are addresses."""
        self.start = np.fromfile(folder / "things.start", "<i8")
        self.rows = memory_map(folder / "things.rows", np.int32)
        self.bits = memory_map(folder / "things.bits", np.uint8)
        self.row_start = np.fromfile(folder / "rows.start", "<i8")
        self.row_things = memory_map(folder / "rows.things", np.int32)
        self.row_bits = memory_map(folder / "rows.bits", np.uint8)
        self.firm = np.fromfile(folder / "things.firm", "<i4").astype(np.int64)
        self.soft = np.fromfile(folder / "things.soft", "<i4").astype(np.int64)
        self.is_pair = np.fromfile(folder / "things.pair", "<i4") > 0
        self.find = lru_cache(maxsize=65_536)(self._keys.find)
        """The number of a key with its table, or -1."""

    def is_rejected(self, number: int) -> bool:
        """Is this a word that is sometimes capitalised, but no name? Then it has no rows."""
        return bool(self.start[number] == self.start[number + 1])

    def key(self, number: int) -> str:
        """Return a key with the letter of its table."""
        return self._keys.at(number)


def gather(start: NDArray[Any], selected: NDArray[Any]) -> tuple[Ints64, Ints64]:
    """Return the entries of the selected lists, one list after the other: (place in `selected`, place of the entry)."""
    first = start[selected]
    sizes = start[selected + 1] - first
    owner = np.repeat(np.arange(len(selected)), sizes)
    places = np.arange(len(owner)) + np.repeat(first - (np.cumsum(sizes) - sizes), sizes)
    return owner, places
