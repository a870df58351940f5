"""Turns stored rows into the input of an index: analysed, sorted and counted, in this process or in workers.

The rows of a generation are split into ranges. Each range writes its postings as runs in the folder and yields blocks,
which are used in order, so the files do not depend on the number of workers.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Generator, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from assay.index.columns_builder import ColumnEntries, collect_entries
from assay.index.postings import PostingsWriter
from assay.store.sqlite import SqliteStore
from assay.text.analyser import Analyser
from assay.util.worker_pool import WorkerCrashed, WorkerPool, WorkersUnavailable, count_workers

T = TypeVar("T")
RowRange = tuple[int, int]
"""A range of rows: the first, and the one beyond the last."""

BLOCK = 2_000
"""Rows of one block. The digest of a generation alternates facts and vectors block by block."""
RANGE = 20 * BLOCK
"""Rows of one task: few enough that the results of the other workers fit into what may wait."""
PARALLEL_FROM = 20_000
"""Rows from which worker processes are faster."""


class IndexTask(NamedTuple):
    """The setup of a worker: the store's folder, the folder being built, the analyser, the rows of a block."""

    store: Path
    folder: Path
    analyser: Analyser
    with_bodies: bool
    block: int


class RowBlock(NamedTuple):
    """Consecutive rows: their numbers of terms, their terms joined by spaces for tantivy, entries and digests."""

    lengths: array[int]
    bodies: list[str]
    entries: ColumnEntries
    facts: bytes


def read_blocks(store: SqliteStore, task: IndexTask, size: int) -> Generator[RowBlock, None, None]:
    """Yield all rows of the generation whose `seqs` are in the folder, in order."""
    return map_ranges(size, task.block, lambda rows: index_range(store, task, rows), ("assay.index.index_worker", task))


def map_ranges(
    size: int, block: int, read_range: Callable[[RowRange], Iterator[T]], worker: tuple[str, object]
) -> Generator[T, None, None]:
    """Yield the parts that `read_range` yields for ranges covering `size` rows, in order; in workers where faster.

    `worker` is the module that does the same in a worker process, and its setup.
    """
    workers = count_workers() if size >= PARALLEL_FROM else 0
    step = min(RANGE, block * -(-size // (block * max(workers, 1)))) or RANGE
    ranges = [(first, min(first + step, size)) for first in range(0, size, step)]
    done = 0
    if workers:
        try:
            with WorkerPool(*worker, ranges, workers) as pool:
                for row_range, parts in zip(ranges, pool, strict=True):
                    yield from _complete_range(parts, partial(read_range, row_range))
                    done += 1
        except WorkersUnavailable:
            pass  # this process reads the rest
    for row_range in ranges[done:]:
        yield from read_range(row_range)


def read_seqs(folder: Path, first: int, end: int) -> list[int]:
    """Read the store's row numbers of a range of a generation's rows."""
    part: list[int] = np.fromfile(folder / "seqs", "<i8", end - first, offset=8 * first).tolist()
    return part


def _complete_range(parts: Iterator[T], read_range: Callable[[], Iterator[T]]) -> Iterator[T]:
    """Yield the parts of a range; if its worker dies, this process reads the rest."""
    seen = 0
    try:
        for part in parts:
            seen += 1
            yield part
    except WorkerCrashed:
        yield from islice(read_range(), seen, None)


def index_range(store: SqliteStore, task: IndexTask, row_range: RowRange) -> Iterator[RowBlock]:
    """Yield the blocks of one range; its postings are written as runs."""
    first, end = row_range
    postings = PostingsWriter(task.folder, first)
    for start in range(first, end, task.block):
        rows = store.rows(read_seqs(task.folder, start, min(start + task.block, end)))
        lengths, bodies = array("I"), []
        for row in rows:
            terms = task.analyser.terms(row.chunk.indexed_text)
            postings.add(terms)
            lengths.append(len(terms))
            if task.with_bodies:
                bodies.append(" ".join(terms))
        chunks = [row.chunk for row in rows]
        yield RowBlock(lengths, bodies, collect_entries(chunks, start), b"".join([row.facts for row in rows]))
    postings.finish()
