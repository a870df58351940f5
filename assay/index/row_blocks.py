"""From stored rows to what an index takes in: analysed, sorted and counted, here or in helper processes.

The rows of a generation are cut into ranges. Each range leaves its postings as runs in the folder and gives blocks,
which are taken in order, so the files are the same wherever a range was worked on.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Generator, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from assay.index.columns_build import Entries, entries_of
from assay.index.postings import PostingsWriter
from assay.store.sqlite import SqliteStore
from assay.text.analyse import Analyser
from assay.util.parallel import Crashed, Crew, NoHelpers, workers

T = TypeVar("T")
Place = tuple[int, int]
"""A range of rows: the first, and the one beyond the last."""

BLOCK = 2_000
"""Rows handed over together. The digest of a generation takes facts and vectors in turns of so many."""
RANGE = 20 * BLOCK
"""Rows one helper works on at a time: few enough that the next helper's fit into what may wait."""
HELPED_ROWS = 20_000
"""Rows from which starting helper processes pays."""


class Work(NamedTuple):
    """What a helper needs to know: the store's folder, the folder being built, how to read words, rows in a block."""

    store: Path
    folder: Path
    analyser: Analyser
    with_bodies: bool
    block: int


class Block(NamedTuple):
    """Consecutive rows: their numbers of terms, their terms joined by spaces if wanted, entries and digests."""

    lengths: array[int]
    bodies: list[str]
    entries: Entries
    facts: bytes


def blocks(store: SqliteStore, work: Work, size: int) -> Generator[Block, None, None]:
    """All rows of the generation whose `seqs` lie in the folder, in order."""
    return in_ranges(size, work.block, lambda place: indexed(store, work, place), ("assay.index.worker", work))


def in_ranges(
    size: int, block: int, done_here: Callable[[Place], Iterator[T]], helper: tuple[str, object]
) -> Generator[T, None, None]:
    """What `done_here` gives for ranges that cover `size` rows, in order; in helper processes where that pays.

    `helper` is the module that does the same in a process of its own, and what it is told at its start.
    """
    helpers = workers() if size >= HELPED_ROWS else 0
    step = min(RANGE, block * -(-size // (block * max(helpers, 1)))) or RANGE
    ranges = [(first, min(first + step, size)) for first in range(0, size, step)]
    done = 0
    if helpers:
        try:
            with Crew(*helper, ranges, helpers) as crew:
                for place, parts in zip(ranges, crew, strict=True):
                    yield from _whole_range(parts, partial(done_here, place))
                    done += 1
        except NoHelpers:
            pass  # what is left is done here
    for place in ranges[done:]:
        yield from done_here(place)


def seqs_of(folder: Path, first: int, end: int) -> list[int]:
    """Where the rows of a generation stand in the store."""
    part: list[int] = np.fromfile(folder / "seqs", "<i8", end - first, offset=8 * first).tolist()
    return part


def _whole_range(parts: Iterator[T], done_here: Callable[[], Iterator[T]]) -> Iterator[T]:
    """The parts of a range; if its helper dies, the rest of it is done here."""
    seen = 0
    try:
        for part in parts:
            seen += 1
            yield part
    except Crashed:
        yield from islice(done_here(), seen, None)


def indexed(store: SqliteStore, work: Work, place: Place) -> Iterator[Block]:
    """The blocks of one range (first row, beyond its last); its postings are left as runs."""
    first, end = place
    postings = PostingsWriter(work.folder, first)
    for start in range(first, end, work.block):
        rows = store.rows(seqs_of(work.folder, start, min(start + work.block, end)))
        lengths, bodies = array("I"), []
        for row in rows:
            terms = work.analyser.terms(row.chunk.indexed_text)
            postings.add(terms)
            lengths.append(len(terms))
            if work.with_bodies:
                bodies.append(" ".join(terms))
        chunks = [row.chunk for row in rows]
        yield Block(lengths, bodies, entries_of(chunks, start), b"".join([row.facts for row in rows]))
    postings.finish()
