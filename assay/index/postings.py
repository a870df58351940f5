"""Writes postings, and the terms of every row in their order, in bounded memory: sorted runs on disk, each of
consecutive rows, then one merge.

The merged files do not depend on where one run ended and the next began.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.index.external_sort import Numbering, merge_runs, write_run
from assay.index.strings import StringColumnWriter

RUN_TERMS = 2_000_000
"""Terms, repeated as they occur, in memory before a run is written: 8 MB, and some 60 MB while they are sorted."""
_MERGE_BATCH = 2_000_000
"""Postings of one batch of the merge."""
_MOST = np.iinfo(np.uint16).max


class PostingsWriter:
    """Takes rows from `first` on, in order, and writes their postings as runs `run-<row>` in the folder."""

    def __init__(self, folder: Path, first: int, max_terms: int = RUN_TERMS) -> None:
        self._folder = folder
        self._max_terms = max_terms
        self._reset(first)

    def _reset(self, first: int) -> None:
        self._first = first
        self._numbers = Numbering()
        self._terms = array("I")
        self._lengths = array("I")

    def add(self, terms: Sequence[str]) -> None:
        self._terms.extend(map(self._numbers.__getitem__, terms))
        self._lengths.append(len(terms))
        if len(self._terms) >= self._max_terms:
            self.finish()

    def finish(self) -> None:
        """Write the buffered rows, if any, as one run, sorted by (term, row)."""
        if not self._lengths:
            return
        words = sorted(self._numbers)  # by code point, which is UTF-8's byte order too
        rank = np.empty(len(words), np.uint64)
        rank[[self._numbers[word] for word in words]] = np.arange(len(words), dtype=np.uint64)
        rows = np.arange(len(self._lengths), dtype=np.uint64) + np.uint64(self._first)
        keys = rank[np.frombuffer(self._terms, np.uint32)] if words else np.empty(0, np.uint64)
        path = self._folder / f"run-{self._first:012d}"
        path.mkdir(exist_ok=True)
        keys.astype("<i4").tofile(path / "sequence")
        keys <<= np.uint64(32)
        keys |= np.repeat(rows, np.frombuffer(self._lengths, np.uint32)) if words else keys
        keys.sort()
        start = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])[: len(keys)])
        counts = np.diff(start, append=len(keys))
        keys = keys[start]
        sizes = np.bincount((keys >> np.uint64(32)).astype(np.int64), minlength=len(words)).tolist()
        write_run(path / "terms", [word.encode("utf-8", "surrogatepass") for word in words], sizes)
        (keys & np.uint64(0xFFFFFFFF)).astype("<i4").tofile(path / "rows")
        np.minimum(counts, _MOST).astype("<u2").tofile(path / "counts")
        self._reset(self._first + len(self._lengths))


class _MergeBatch:
    """A batch of adjacent terms of all runs: the number of postings of each run, in the order of writing.

    A term may begin in one batch and end in the next: its postings come run by run.
    """

    def __init__(self, runs: Sequence[Path]) -> None:
        self._runs = runs
        self._read = np.zeros(len(runs), np.int64)  # postings already read from each run
        self._reset()

    def _reset(self) -> None:
        self._run = array("i")
        self._size = array("i")
        self.total = 0

    def add(self, run: int, size: int) -> None:
        self._run.append(run)
        self._size.append(size)
        self.total += size

    def write(self, rows: Any, counts: Any) -> None:
        if not self._run:
            return
        run, size = np.frombuffer(self._run, np.int32), np.frombuffer(self._size, np.int32)
        taken = np.bincount(run, size, len(self._runs)).astype(np.int64)
        # Where each segment begins in the concatenated runs, and where it begins in the output.
        by_run = np.argsort(run, kind="stable")
        origin = np.empty(len(size), np.int64)
        origin[by_run] = np.cumsum(size[by_run]) - size[by_run]
        order = np.repeat((origin - np.cumsum(size) + size).astype(np.int32), size)
        order += np.arange(len(order), dtype=np.int32)
        self._parts("rows", "<i4", taken)[order].tofile(rows)
        self._parts("counts", "<u2", taken)[order].tofile(counts)
        self._read += taken
        self._reset()

    def _parts(self, name: str, kind: str, taken: NDArray[np.int64]) -> NDArray[Any]:
        width = np.dtype(kind).itemsize
        return np.concatenate(
            [
                np.fromfile(run / name, kind, int(count), offset=int(start) * width)
                for run, count, start in zip(self._runs, taken, self._read, strict=True)
                if count
            ]
        )


def merge_postings(runs: Sequence[Path], folder: Path) -> None:
    """Merge all runs: `terms`, and for each of them its rows, ascending, with their counts; `sequence` holds the terms
    of all rows as numbers, row by row, as they are in the text."""
    terms = StringColumnWriter(folder / "terms")
    start = array("q")
    numbers = [array("i") for _ in runs]  # of each run, the number of its first term, its second, …
    batch = _MergeBatch(runs)
    last, total, number = None, 0, -1
    with (
        (folder / "postings.rows").open("wb") as rows,
        (folder / "postings.counts").open("wb") as counts,
        (folder / "postings.start").open("wb") as starts,
    ):
        for term, run, size in merge_runs([path / "terms" for path in runs]):
            if term != last:
                terms.add_bytes(term)
                start.append(total)
                last = term
                number += 1
            numbers[run].append(number)
            batch.add(run, size)
            total += size
            if batch.total >= _MERGE_BATCH:
                batch.write(rows, counts)
                start.tofile(starts)
                del start[:]
        batch.write(rows, counts)
        start.append(total)
        start.tofile(starts)
    with (folder / "sequence").open("wb") as sequence:
        for path, own in zip(runs, numbers, strict=True):
            np.frombuffer(own, np.int32)[np.fromfile(path / "sequence", "<i4")].tofile(sequence)
    terms.close()
