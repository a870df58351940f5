"""Sorted things too many for memory: written as runs on disk, read back together in order.

A run is a file of pickled blocks. It is opened anew for every block, so hundreds of runs may be merged without
holding hundreds of files open, and a merge holds one block of each.
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
    """Keys in ascending order, none twice, each with a size where they have one."""
    with path.open("wb") as file:
        for start in range(0, len(keys), _BLOCK):
            part = slice(start, start + _BLOCK)
            block = keys[part], [0] * len(keys[part]) if sizes is None else sizes[part]
            pickle.dump(block, file, pickle.HIGHEST_PROTOCOL)


def merged(paths: Sequence[Path]) -> Iterator[tuple[Any, int, int]]:
    """(key, number of its run, its size) of all runs in the order of the keys; equal keys in the order of the runs."""
    return heapq.merge(*(_read_run(path, run) for run, path in enumerate(paths)))


def _read_run(path: Path, run: int) -> Iterator[tuple[Any, int, int]]:
    place = 0
    while True:
        with path.open("rb") as file:
            file.seek(place)
            try:
                keys, sizes = pickle.load(file)
            except EOFError:
                return
            place = file.tell()
        yield from zip(keys, repeat(run), sizes)
