"""From stored rows to the graph's candidates, left as sorted runs, here or in helper processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from assay.index.mentions import candidates
from assay.index.postings import PostingsWriter
from assay.index.rows import Place, seqs_of
from assay.store.rows import ChunkRow


class Reads(Protocol):
    """A record of truth, as far as the graph needs one."""

    def rows(self, seqs: Sequence[int]) -> list[ChunkRow]: ...


class GraphWork(NamedTuple):
    """Where the store is (its folder, or the parts of a server's address), the folder that lists its rows, the one for
    the runs, the language of names, rows in a block."""

    store: Path | tuple[str, ...]
    listed: Path
    runs: Path
    language: str
    block: int


def gathered(store: Reads, work: GraphWork, place: Place) -> Iterator[int]:
    """How many rows of a range have been read, block by block; their candidates are left as runs."""
    first, end = place
    postings = PostingsWriter(work.runs, first)
    for start in range(first, end, work.block):
        rows = store.rows(seqs_of(work.listed, start, min(start + work.block, end)))
        for row in rows:
            postings.add(candidates(row.chunk, work.language))
        yield len(rows)
    postings.finish()
