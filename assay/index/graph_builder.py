"""Builds the graph of a generation: which things and addresses there are, and the rows that hold them.

A thing needs one firm mention; soft ones only add rows to it. A single word is a name only where a fair share of the
rows that hold it write it as one: whoever writes "the First" makes no name of `first`. A pair of words is a thing when
enough rows hold it and its parts seek each other:

    npmi(x, y) = ln( p(xy) / (p(x) · p(y)) ) / −ln p(xy)        in [−1, 1]; p = share of rows

with p(x) from the word index, so that all forms of a word count. Everything is in the order of keys and rows: the
same live chunks give the same files, wherever the work was done. Memory is bounded but for 12 bytes per posting.
"""

from __future__ import annotations

import math
import shutil
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from assay.index.graph import GRAPH_FORMAT, GraphIndex
from assay.index.graph_rows import GraphWork, Reads, gathered
from assay.index.mentions import CLASSES, FIRM, PAIR, SOFT
from assay.index.postings import merge_postings
from assay.index.rows import BLOCK, in_ranges
from assay.index.strings import Strings, StringsWriter
from assay.index.whole import whole, write_manifest
from assay.index.words import mapped
from assay.text.analyse import Analyser
from assay.types import Progress

PAIR_ROWS = 3
"""Rows that hold a pair before it can be a thing: below, chance alone makes pairs."""
PAIR_NPMI = 0.4
NAME_SHARE = 0.3
"""Of the rows that hold a word, the share that write it as a name inside a sentence before it is one."""
_LOT = 20_000  # lists written together
Held = tuple[NDArray[np.int32], NDArray[np.uint8]]
"""Rows, ascending, and the bits of each."""


def npmi(both: int, one: int, other: int, size: int) -> float:
    """How much two words seek each other, from the rows that hold both side by side, the one, the other, and all."""
    if not both:
        return -1.0
    if both == size:
        return 1.0
    together = both / size
    return math.log(together * size * size / (one * other)) / -math.log(together)


@dataclass(frozen=True)
class GraphRows:
    """The rows that a graph is about: row r is the r-th of the file `seqs` in `listed`. `holding` says how many of
    them hold a term; `helper` is the module that reads ranges of them in a process of its own, from `where`."""

    store: Reads
    where: Path | tuple[str, ...]
    listed: Path
    size: int
    holding: Callable[[str], int]
    helper: str = "assay.index.graph_worker"


def build_graph(source: GraphRows, folder: Path, analyser: Analyser, progress: Progress) -> GraphIndex:
    """The graph of these rows, left in `folder`, which is there whole or not at all."""
    with whole(folder) as aside:
        runs = aside / "runs"
        runs.mkdir()
        work = GraphWork(source.where, source.listed, runs, analyser.language, BLOCK)
        done = 0
        for rows in in_ranges(source.size, BLOCK, lambda p: gathered(source.store, work, p), (source.helper, work)):
            done += rows
            progress("graph", done, source.size)
        merge_postings(sorted(runs.glob("run-*")), runs)
        _write_things(runs, aside, _Judge(source, analyser))
        shutil.rmtree(runs)
        _write_rows(aside, source.size)
        write_manifest(aside, {"format": GRAPH_FORMAT, "rows": source.size})
    return GraphIndex(folder)


@dataclass(frozen=True)
class _Judge:
    """Which candidates the statistics of the rows let pass."""

    source: GraphRows
    analyser: Analyser
    _seen: dict[str, int] = field(default_factory=dict)

    def _frequency(self, word: str) -> int:
        """Rows that hold a word in any of its forms."""
        if word not in self._seen:
            self._seen[word] = max(map(self.source.holding, self.analyser.terms(word)), default=0)
        return self._seen[word]

    def accepts(self, kind: str, key: bytes, rows: int) -> bool:
        """Does a candidate of this class, in so many rows, say what it seems to say?"""
        if kind not in ("p", "f"):
            return True
        said = key[1:].decode("utf-8", "surrogatepass")
        return self._belongs(said, rows) if kind == "p" else self._is_name(said, rows)

    def _belongs(self, key: str, rows: int) -> bool:
        """Does this pair, in so many rows, belong together?"""
        if rows < PAIR_ROWS:
            return False
        one, other = (max(self._frequency(word), rows) for word in key.split(" ", 1))
        return npmi(rows, one, other, self.source.size) >= PAIR_NPMI

    def _is_name(self, key: str, rows: int) -> bool:
        """Is this a name, or a word that somebody wrote large once?"""
        return " " in key or rows >= NAME_SHARE * self._frequency(key)


def _write_things(runs: Path, folder: Path, judge: _Judge) -> None:
    """All candidates of one key as one list of rows with their bits; keys that stand for nothing are left out."""
    terms = Strings(runs / "terms")
    start = np.fromfile(runs / "postings.start", "<i8")
    every = mapped(runs / "postings.rows", np.int32)
    keys, ends = StringsWriter(folder / "keys"), array("q", [0])
    lot: list[Held] = []

    def candidates() -> Iterator[tuple[bytes, str, int]]:
        for number in range(len(terms)):
            said = terms.bytes_at(number)
            yield said[:-2], chr(said[-1]), number

    with (folder / "things.rows").open("wb") as rows, (folder / "things.bits").open("wb") as bits:
        for key, group in groupby(candidates(), itemgetter(0)):
            lists: list[tuple[NDArray[np.int32], int]] = []
            refused = False
            for _, kind, number in group:
                held = every[start[number] : start[number + 1]]
                if judge.accepts(kind, key, len(held)):
                    lists.append((held, CLASSES[kind]))
                elif kind == "f":
                    refused = True
            if not any(bit & FIRM for _, bit in lists) and not key.startswith(b"a"):
                if not refused:
                    continue
                lists = [(every[:0], 0)]  # the tail must know that this is a word, not a name
            found = _united(lists)
            lot.append(found)
            keys.add_bytes(key)
            ends.append(ends[-1] + len(found[0]))
            if len(lot) >= _LOT:
                _write_lot(lot, rows, bits)
        _write_lot(lot, rows, bits)
    keys.close()
    np.frombuffer(ends, "<i8").tofile(folder / "things.start")


def _write_lot(lot: list[Held], rows: IO[bytes], bits: IO[bytes]) -> None:
    """Write what is held, and hold nothing."""
    if lot:
        np.concatenate([held for held, _ in lot]).astype("<i4").tofile(rows)
        np.concatenate([marks for _, marks in lot]).tofile(bits)
        lot.clear()


def _united(lists: list[tuple[NDArray[np.int32], int]]) -> Held:
    """Ascending lists of rows as one, each row with the bits of every list that has it."""
    if len(lists) == 1:
        return lists[0][0], np.full(len(lists[0][0]), lists[0][1], np.uint8)
    rows = np.concatenate([held for held, _ in lists])
    marks = np.concatenate([np.full(len(held), bit, np.uint8) for held, bit in lists])
    order = np.argsort(rows, kind="stable")
    rows, marks = rows[order], marks[order]
    first = np.flatnonzero(np.concatenate([[True], rows[1:] != rows[:-1]]))
    return rows[first], np.bitwise_or.reduceat(marks, first)


def _write_rows(folder: Path, size: int) -> None:
    """The same postings seen from the rows, and how often each thing is firm, soft, or a pair."""
    start = np.fromfile(folder / "things.start", "<i8")
    rows, bits = np.fromfile(folder / "things.rows", "<i4"), np.fromfile(folder / "things.bits", np.uint8)
    owner = np.repeat(np.arange(len(start) - 1, dtype=np.int32), np.diff(start))
    for name, bit in (("firm", FIRM), ("soft", SOFT), ("pair", PAIR)):
        held = np.bincount(owner[bits & bit != 0], minlength=len(start) - 1)
        held.astype("<i4").tofile(folder / f"things.{name}")
    order = np.argsort(rows, kind="stable")
    owner[order].astype("<i4").tofile(folder / "rows.things")
    bits[order].tofile(folder / "rows.bits")
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=size))])
    ends.astype("<i8").tofile(folder / "rows.start")
