"""From stored rows to the graph's candidates, left as sorted runs, here or in helper processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from assay.index.mentions import candidates
from assay.index.postings import PostingsWriter
from assay.index.rows import Place, seqs_of
from assay.store.sqlite import Store


class GraphWork(NamedTuple):
    """The store's folder, the generation's, the one for the runs, the language of names, rows in a block."""

    store: Path
    generation: Path
    runs: Path
    language: str
    block: int


def gathered(store: Store, work: GraphWork, place: Place) -> Iterator[int]:
    """How many rows of a range have been read, block by block; their candidates are left as runs."""
    first, end = place
    postings = PostingsWriter(work.runs, first)
    for start in range(first, end, work.block):
        rows = store.rows(seqs_of(work.generation, start, min(start + work.block, end)))
        for row in rows:
            postings.add(candidates(row.chunk, work.language))
        yield len(rows)
    postings.finish()
