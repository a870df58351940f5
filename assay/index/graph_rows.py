"""Extracts the graph's mentions from stored rows into sorted runs, in this process or in workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from assay.index.mentions import extract_mentions
from assay.index.postings import PostingsWriter
from assay.index.row_blocks import RowRange, read_seqs
from assay.store.rows import ChunkRow


class RowReader(Protocol):
    """The part of a chunk store that the graph reads."""

    def rows(self, seqs: Sequence[int]) -> list[ChunkRow]: ...


class GraphTask(NamedTuple):
    """The address of the store (a folder, or the parts of a server's address), the folder with the file `seqs`, the
    folder of the runs, the language of names, the rows of a block."""

    store: Path | tuple[str, ...]
    rows_folder: Path
    runs: Path
    language: str
    block: int


def gather_mentions(store: RowReader, task: GraphTask, row_range: RowRange) -> Iterator[int]:
    """Write the mentions of a range of rows as runs; yield the number of rows of each block."""
    first, end = row_range
    postings = PostingsWriter(task.runs, first)
    for start in range(first, end, task.block):
        rows = store.rows(read_seqs(task.rows_folder, start, min(start + task.block, end)))
        for row in rows:
            postings.add(extract_mentions(row.chunk, task.language))
        yield len(rows)
    postings.finish()
