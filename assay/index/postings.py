"""Postings in bounded memory: sorted runs on disk, each of consecutive rows, then one merge.

The merged files do not depend on where one run ended and the next began.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.index.spill import Numbering, merged, write_run
from assay.index.strings import StringsWriter

RUN_TERMS = 2_000_000
"""Terms, repeated as they occur, held before a run is written: 8 MB, and some 60 MB while they are sorted."""
_MERGED = 2_000_000
"""Postings gathered before they are written."""
_MOST = np.iinfo(np.uint16).max


class PostingsWriter:
    """Rows from `first` on come in order; their postings are left as runs `run-<row>` in the folder."""

    def __init__(self, folder: Path, first: int, most: int = RUN_TERMS) -> None:
        self._folder = folder
        self._most = most
        self._fresh(first)

    def _fresh(self, first: int) -> None:
        self._first = first
        self._numbers = Numbering()
        self._terms = array("I")
        self._lengths = array("I")

    def add(self, terms: Sequence[str]) -> None:
        self._terms.extend(map(self._numbers.__getitem__, terms))
        self._lengths.append(len(terms))
        if len(self._terms) >= self._most:
            self.finish()

    def finish(self) -> None:
        """Write what is held, if anything, as one run, sorted by (term, row)."""
        if not self._lengths:
            return
        words = sorted(self._numbers)  # by code point, which is UTF-8's byte order too
        rank = np.empty(len(words), np.uint64)
        rank[[self._numbers[word] for word in words]] = np.arange(len(words), dtype=np.uint64)
        rows = np.arange(len(self._lengths), dtype=np.uint64) + np.uint64(self._first)
        keys = rank[np.frombuffer(self._terms, np.uint32)] if words else np.empty(0, np.uint64)
        keys <<= np.uint64(32)
        keys |= np.repeat(rows, np.frombuffer(self._lengths, np.uint32)) if words else keys
        keys.sort()
        start = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])[: len(keys)])
        counts = np.diff(start, append=len(keys))
        keys = keys[start]
        sizes = np.bincount((keys >> np.uint64(32)).astype(np.int64), minlength=len(words)).tolist()
        path = self._folder / f"run-{self._first:012d}"
        path.mkdir(exist_ok=True)
        write_run(path / "terms", [word.encode("utf-8", "surrogatepass") for word in words], sizes)
        (keys & np.uint64(0xFFFFFFFF)).astype("<i4").tofile(path / "rows")
        np.minimum(counts, _MOST).astype("<u2").tofile(path / "counts")
        self._fresh(self._first + len(self._lengths))


class _Gathered:
    """Neighbouring terms of all runs: which run has how many postings of each, in the order they are written.

    A term may be begun in one lot and ended in the next: its postings come run by run.
    """

    def __init__(self, runs: Sequence[Path]) -> None:
        self._runs = runs
        self._read = np.zeros(len(runs), np.int64)  # postings already taken from each run
        self._fresh()

    def _fresh(self) -> None:
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
        # Where each segment begins when the runs stand one behind the other, and where it begins in the output.
        by_run = np.argsort(run, kind="stable")
        source = np.empty(len(size), np.int64)
        source[by_run] = np.cumsum(size[by_run]) - size[by_run]
        order = np.repeat((source - np.cumsum(size) + size).astype(np.int32), size)
        order += np.arange(len(order), dtype=np.int32)
        self._parts("rows", "<i4", taken)[order].tofile(rows)
        self._parts("counts", "<u2", taken)[order].tofile(counts)
        self._read += taken
        self._fresh()

    def _parts(self, name: str, kind: str, taken: NDArray[np.int64]) -> NDArray[Any]:
        width = np.dtype(kind).itemsize
        return np.concatenate(
            [
                np.fromfile(run / name, kind, int(many), offset=int(done) * width)
                for run, many, done in zip(self._runs, taken, self._read, strict=True)
                if many
            ]
        )


def merge_postings(runs: Sequence[Path], folder: Path) -> None:
    """All runs as one: `terms`, and for each of them its rows, ascending, with their counts."""
    terms = StringsWriter(folder / "terms")
    start = array("q")
    gathered = _Gathered(runs)
    last, total = None, 0
    with (
        (folder / "postings.rows").open("wb") as rows,
        (folder / "postings.counts").open("wb") as counts,
        (folder / "postings.start").open("wb") as starts,
    ):
        for term, run, size in merged([path / "terms" for path in runs]):
            if term != last:
                terms.add_bytes(term)
                start.append(total)
                last = term
            gathered.add(run, size)
            total += size
            if gathered.total >= _MERGED:
                gathered.write(rows, counts)
                start.tofile(starts)
                del start[:]
        gathered.write(rows, counts)
        start.append(total)
        start.tofile(starts)
    terms.close()
