"""python -m assay.index.worker     indexes ranges of rows, speaking `assay.util.parallel`'s protocol"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from assay.index.rows import Block, Work, indexed
from assay.store.sqlite import SqliteStore
from assay.util.parallel import serve


def _handler(work: Work) -> Callable[[tuple[int, int]], Iterator[Block]]:
    store = SqliteStore.open(work.store)
    store.db.execute("PRAGMA mmap_size = 0")  # the program has the pages mapped; once is enough
    return lambda place: indexed(store, work, place)


if __name__ == "__main__":
    serve(_handler)
