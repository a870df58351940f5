"""python -m assay.index.graph_worker     reads ranges of rows for the graph, speaking `assay.parallel`'s protocol"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from assay.index.graph_rows import GraphWork, gathered
from assay.parallel import serve
from assay.store.sqlite import Store


def _handler(work: GraphWork) -> Callable[[tuple[int, int]], Iterator[int]]:
    assert isinstance(work.store, Path)
    store = Store.open(work.store)
    store.db.execute("PRAGMA mmap_size = 0")  # the program has the pages mapped; once is enough
    return lambda place: gathered(store, work, place)


if __name__ == "__main__":
    serve(_handler)
