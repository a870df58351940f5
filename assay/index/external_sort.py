"""External sorting: sorted runs are written to disk and merged in order.

A run is a file of pickled blocks. It is opened for each block, so that merging hundreds of runs does not keep hundreds
of files open; a merge holds one block of each run in memory.
"""

from __future__ import annotations

import heapq
import pickle
from collections.abc import Iterator, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

_BLOCK = 512


class Numbering(dict[str, int]):
    """`numbering[text]` is the text's number: 0 for the first new text, 1 for the second, …"""

    def __missing__(self, text: str) -> int:
        number = self[text] = len(self)
        return number


def write_run(path: Path, keys: Sequence[Any], sizes: Sequence[int] | None = None) -> None:
    """Write keys in ascending order, each once, with their sizes if given."""
    with path.open("wb") as file:
        for start in range(0, len(keys), _BLOCK):
            part = slice(start, start + _BLOCK)
            block = keys[part], [0] * len(keys[part]) if sizes is None else sizes[part]
            pickle.dump(block, file, pickle.HIGHEST_PROTOCOL)


def merge_runs(paths: Sequence[Path]) -> Iterator[tuple[Any, int, int]]:
    """Yield (key, number of its run, its size) of all runs in the order of keys; equal keys in the order of runs."""
    return heapq.merge(*(_read_run(path, run) for run, path in enumerate(paths)))


def _read_run(path: Path, run: int) -> Iterator[tuple[Any, int, int]]:
    offset = 0
    while True:
        with path.open("rb") as file:
            file.seek(offset)
            try:
                keys, sizes = pickle.load(file)
            except EOFError:
                return
            offset = file.tell()
        yield from zip(keys, repeat(run), sizes)
