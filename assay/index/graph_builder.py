"""Builds the graph of a generation: the things and addresses, and the rows that hold them.

A thing needs one firm mention; soft ones only add rows to it. A single word is a name only where enough of its rows
write it as one: "the First" does not make `first` a name. A pair of words is a thing when enough rows hold it and its
words are associated:

    npmi(x, y) = ln( p(xy) / (p(x) · p(y)) ) / −ln p(xy)        in [−1, 1]; p = share of rows

with p(x) from the word index, so that all forms of a word count. Everything is in the order of keys and rows: the
same live chunks give the same files, with or without workers. Memory is bounded except for 12 bytes per posting.
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

from assay.index.atomic_folder import atomic_folder, write_manifest
from assay.index.graph import GRAPH_FORMAT, GraphIndex
from assay.index.graph_rows import GraphTask, RowReader, gather_mentions
from assay.index.mentions import CLASSES, FIRM, PAIR, SOFT
from assay.index.postings import merge_postings
from assay.index.row_blocks import BLOCK, map_ranges
from assay.index.strings import StringColumn, StringColumnWriter
from assay.index.words import memory_map
from assay.text.analyser import Analyser
from assay.types import Progress

PAIR_ROWS = 3
"""Rows that must hold a pair before it can be a thing; fewer occur by chance."""
PAIR_NPMI = 0.4
NAME_SHARE = 0.3
"""The share of the rows of a word that must write it as a name inside a sentence."""
_BATCH = 20_000  # lists in one write
RowBits = tuple[NDArray[np.int32], NDArray[np.uint8]]
"""Rows, ascending, and the bits of each."""


def npmi(both: int, one: int, other: int, size: int) -> float:
    """Return the association of two words, from the numbers of rows with both adjacent, with each, and of all rows."""
    if not both:
        return -1.0
    if both == size:
        return 1.0
    together = both / size
    return math.log(together * size * size / (one * other)) / -math.log(together)


@dataclass(frozen=True)
class GraphRows:
    """The input of a graph: row r is the r-th of the file `seqs` in `rows_folder`. `frequency` returns how many rows
    hold a term; `worker` is the module that reads ranges of rows in a worker process, from the store at `address`."""

    store: RowReader
    address: Path | tuple[str, ...]
    rows_folder: Path
    size: int
    frequency: Callable[[str], int]
    worker: str = "assay.index.graph_worker"


def build_graph(graph_rows: GraphRows, folder: Path, analyser: Analyser, progress: Progress) -> GraphIndex:
    """Build the graph of these rows atomically in `folder`."""
    with atomic_folder(folder) as temporary:
        runs = temporary / "runs"
        runs.mkdir()
        task = GraphTask(graph_rows.address, graph_rows.rows_folder, runs, analyser.language, BLOCK)
        done = 0
        for rows in map_ranges(
            graph_rows.size, BLOCK, lambda p: gather_mentions(graph_rows.store, task, p), (graph_rows.worker, task)
        ):
            done += rows
            progress("graph", done, graph_rows.size)
        merge_postings(sorted(runs.glob("run-*")), runs)
        _write_things(runs, temporary, _MentionFilter(graph_rows, analyser))
        shutil.rmtree(runs)
        _write_rows(temporary, graph_rows.size)
        write_manifest(temporary, {"format": GRAPH_FORMAT, "rows": graph_rows.size})
    return GraphIndex(folder)


@dataclass(frozen=True)
class _MentionFilter:
    """Accepts mentions by the statistics of the rows."""

    graph_rows: GraphRows
    analyser: Analyser
    _frequencies: dict[str, int] = field(default_factory=dict)

    def _frequency(self, word: str) -> int:
        """Return the number of rows that hold a word in any of its forms."""
        if word not in self._frequencies:
            self._frequencies[word] = max(map(self.graph_rows.frequency, self.analyser.terms(word)), default=0)
        return self._frequencies[word]

    def accepts(self, kind: str, key: bytes, rows: int) -> bool:
        """Is a key of this class, mentioned in so many rows, a thing?"""
        if kind not in ("p", "f"):
            return True
        text = key[1:].decode("utf-8", "surrogatepass")
        return self._is_collocation(text, rows) if kind == "p" else self._is_name(text, rows)

    def _is_collocation(self, key: str, rows: int) -> bool:
        """Is this pair, in so many rows, a collocation?"""
        if rows < PAIR_ROWS:
            return False
        one, other = (max(self._frequency(word), rows) for word in key.split(" ", 1))
        return npmi(rows, one, other, self.graph_rows.size) >= PAIR_NPMI

    def _is_name(self, key: str, rows: int) -> bool:
        """Is this a name, not a word that is capitalised now and then?"""
        return " " in key or rows >= NAME_SHARE * self._frequency(key)


def _write_things(runs: Path, folder: Path, mention_filter: _MentionFilter) -> None:
    """Write all mentions of one key as one list of rows with their bits; keys of no thing are left out."""
    terms = StringColumn(runs / "terms")
    start = np.fromfile(runs / "postings.start", "<i8")
    every = memory_map(runs / "postings.rows", np.int32)
    keys, ends = StringColumnWriter(folder / "keys"), array("q", [0])
    batch: list[RowBits] = []

    def mentions() -> Iterator[tuple[bytes, str, int]]:
        for number in range(len(terms)):
            mention = terms.bytes_at(number)
            yield mention[:-2], chr(mention[-1]), number

    with (folder / "things.rows").open("wb") as rows, (folder / "things.bits").open("wb") as bits:
        for key, group in groupby(mentions(), itemgetter(0)):
            lists: list[tuple[NDArray[np.int32], int]] = []
            rejected = False
            for _, kind, number in group:
                postings = every[start[number] : start[number + 1]]
                if mention_filter.accepts(kind, key, len(postings)):
                    lists.append((postings, CLASSES[kind]))
                elif kind == "f":
                    rejected = True
            if not any(bit & FIRM for _, bit in lists) and not key.startswith(b"a"):
                if not rejected:
                    continue
                lists = [(every[:0], 0)]  # the tail reads from this that it is a word, not a name
            row_bits = _merge_lists(lists)
            batch.append(row_bits)
            keys.add_bytes(key)
            ends.append(ends[-1] + len(row_bits[0]))
            if len(batch) >= _BATCH:
                _write_batch(batch, rows, bits)
        _write_batch(batch, rows, bits)
    keys.close()
    np.frombuffer(ends, "<i8").tofile(folder / "things.start")


def _write_batch(batch: list[RowBits], rows: IO[bytes], bits: IO[bytes]) -> None:
    """Write a batch and clear it."""
    if batch:
        np.concatenate([rows_of for rows_of, _ in batch]).astype("<i4").tofile(rows)
        np.concatenate([bits_of for _, bits_of in batch]).tofile(bits)
        batch.clear()


def _merge_lists(lists: list[tuple[NDArray[np.int32], int]]) -> RowBits:
    """Merge ascending lists of rows, each row with the bits of every list that has it."""
    if len(lists) == 1:
        return lists[0][0], np.full(len(lists[0][0]), lists[0][1], np.uint8)
    rows = np.concatenate([rows_of for rows_of, _ in lists])
    marks = np.concatenate([np.full(len(rows_of), bit, np.uint8) for rows_of, bit in lists])
    order = np.argsort(rows, kind="stable")
    rows, marks = rows[order], marks[order]
    first = np.flatnonzero(np.concatenate([[True], rows[1:] != rows[:-1]]))
    return rows[first], np.bitwise_or.reduceat(marks, first)


def _write_rows(folder: Path, size: int) -> None:
    """Write the postings by row, and how often each thing is firm, soft, or a pair."""
    start = np.fromfile(folder / "things.start", "<i8")
    rows, bits = np.fromfile(folder / "things.rows", "<i4"), np.fromfile(folder / "things.bits", np.uint8)
    owner = np.repeat(np.arange(len(start) - 1, dtype=np.int32), np.diff(start))
    for name, bit in (("firm", FIRM), ("soft", SOFT), ("pair", PAIR)):
        counts = np.bincount(owner[bits & bit != 0], minlength=len(start) - 1)
        counts.astype("<i4").tofile(folder / f"things.{name}")
    order = np.argsort(rows, kind="stable")
    owner[order].astype("<i4").tofile(folder / "rows.things")
    bits[order].tofile(folder / "rows.bits")
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=size))])
    ends.astype("<i8").tofile(folder / "rows.start")
