"""python -m assay.index.worker     indexes ranges of rows, speaking `assay.parallel`'s protocol"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from assay.index.rows import Block, Work, indexed
from assay.parallel import serve
from assay.store.sqlite import Store


def _handler(work: Work) -> Callable[[tuple[int, int]], Iterator[Block]]:
    store = Store.open(work.store)
    store.db.execute("PRAGMA mmap_size = 0")  # the program has the pages mapped; once is enough
    return lambda place: indexed(store, work, place)


if __name__ == "__main__":
    serve(_handler)
