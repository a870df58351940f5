"""The words of leaves: for each term the leaves that hold it, and the largest BM25 saturation it has in each.

A term's contribution to a chunk is idf · tf·(k1+1) / (tf + damping). The second factor, the saturation, is stored: its
maximum over the rows of a leaf, rounded up. If the mean length of a chunk grows from A to A', no saturation grows by
more than A'/A, so the stored maximum times max(1, A'/A) stays an upper bound. Inner nodes take the maximum of their
leaves, which are consecutive.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.index.similarity import Bm25Similarity
from assay.index.tree.layout import Nodes
from assay.index.words import WordIndex
from assay.types import Floats, Progress, Rows

BLOCK = 1_000_000
"""Postings that are counted at a time."""
_PARTS = {"leaves": "<i4", "impacts": "<f4", "uses": "<i4", "holding": "<i4"}


class WordBlock(NamedTuple):
    """Consecutive terms from `first` on: where the entries of each begin, and for each entry (term, leaf) the leaf's
    number among the leaves, how often its rows use the term, how many hold it, and its largest saturation."""

    first: int
    start: Rows
    leaves: NDArray[np.int32]
    uses: NDArray[np.int32]
    holding: NDArray[np.int32]
    impacts: NDArray[np.float32]


def count_leaf_words(
    words: WordIndex, places: tuple[Nodes, Nodes], similarity: Bm25Similarity, block: int = BLOCK
) -> Iterator[WordBlock]:
    """Yield the entries of all terms, block by block. `places` are the leaf of each row and its second leaf or -1, both
    counted from the first leaf."""
    leaf_of_row, second_of_row = places
    average = words.total / words.size if words.total else 1.0
    damped = similarity.damping(words.lengths.astype(np.float64), average)
    leaf_count = int(leaf_of_row.max(initial=0)) + 1
    for first, start, rows, counts in words.blocks(block):
        terms = np.repeat(np.arange(len(start) - 1), np.diff(start))
        gains = similarity.saturation(counts.astype(np.float64), damped[rows])
        leaves = leaf_of_row[rows]
        if (again := second_of_row[rows] >= 0).any():
            terms, gains = np.concatenate([terms, terms[again]]), np.concatenate([gains, gains[again]])
            leaves = np.concatenate([leaves, second_of_row[rows[again]]])
            counts = np.concatenate([counts, counts[again]])
        keys = terms * leaf_count + leaves
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        runs = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])[: len(keys)])
        entry_terms = keys[runs] // leaf_count
        yield WordBlock(
            first,
            np.searchsorted(entry_terms, np.arange(len(start))),
            (keys[runs] % leaf_count).astype(np.int32),
            np.add.reduceat(counts[order], runs, dtype=np.int64).astype(np.int32) if len(runs) else _no_counts(),
            np.diff(np.append(runs, len(keys))).astype(np.int32),
            _round_up(np.maximum.reduceat(gains[order], runs)) if len(runs) else np.empty(0, np.float32),
        )


def _no_counts() -> NDArray[np.int32]:
    return np.empty(0, np.int32)


def _round_up(values: Floats) -> NDArray[np.float32]:
    rounded = values.astype(np.float32)
    return np.where(rounded < values, np.nextafter(rounded, np.float32(np.inf)), rounded)


def write_leaf_words(
    folder: Path, words: WordIndex, places: tuple[Nodes, Nodes], similarity: Bm25Similarity, progress: Progress
) -> None:
    """Write the words of all leaves; `uses` and `holding` are needed by the builder only."""
    ends = [np.zeros(1, np.int64)]
    files = {name: (folder / f"words.{name}").open("wb") for name in _PARTS}
    try:
        for block in count_leaf_words(words, places, similarity):
            for name, kind in _PARTS.items():
                getattr(block, name).astype(kind).tofile(files[name])
            ends.append(block.start[1:] + ends[-1][-1])
            progress("words of the tree", block.first + len(block.start) - 1, words.vocabulary)
    finally:
        for file in files.values():
            file.close()
    np.concatenate(ends).astype("<i8").tofile(folder / "words.start")


def read_blocks(folder: Path, block: int = BLOCK) -> Iterator[WordBlock]:
    """Yield what `write_leaf_words` wrote, in blocks of whole terms with about `block` entries."""
    start = np.fromfile(folder / "words.start", "<i8")
    terms = len(start) - 1
    first = 0
    while first < terms:
        end = max(first + 1, int(np.searchsorted(start, start[first] + block, side="right")) - 1)
        count, offset = int(start[end] - start[first]), int(start[first]) * 4
        parts = {n: np.fromfile(folder / f"words.{n}", kind, count, offset=offset) for n, kind in _PARTS.items()}
        yield WordBlock(first, start[first : end + 1] - start[first], **parts)
        first = end


def remove_builder_files(folder: Path) -> None:
    """Remove the counts that only the builder needs."""
    for name in ("uses", "holding"):
        (folder / f"words.{name}").unlink()


class LeafWords:
    """Read-only view of the words of leaves; terms have the numbers of the word index."""

    def __init__(self, folder: Path) -> None:
        self._start = np.memmap(folder / "words.start", "<i8", "r")
        size = int(self._start[-1])
        self._leaves = np.memmap(folder / "words.leaves", "<i4", "r") if size else np.empty(0, np.int32)
        self._impacts = np.memmap(folder / "words.impacts", "<f4", "r") if size else np.empty(0, np.float32)

    def entries(self, term: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the leaves that hold a term, ascending, counted from the first leaf, with its largest saturations."""
        if term < 0:
            return self._leaves[:0], self._impacts[:0]
        span = slice(int(self._start[term]), int(self._start[term + 1]))
        return self._leaves[span], self._impacts[span]
