"""python -m assay.index.graph_worker     reads ranges of rows for the graph; protocol: `assay.util.parallel`"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from assay.index.graph_rows import GraphWork, gathered
from assay.store.sqlite import SqliteStore
from assay.util.parallel import serve


def _handler(work: GraphWork) -> Callable[[tuple[int, int]], Iterator[int]]:
    assert isinstance(work.store, Path)
    store = SqliteStore.open(work.store)
    store.db.execute("PRAGMA mmap_size = 0")  # the program has the pages mapped; once is enough
    return lambda place: gathered(store, work, place)


if __name__ == "__main__":
    serve(_handler)
