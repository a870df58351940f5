"""python -m assay.index.index_worker     a worker that indexes ranges of rows (`assay.util.worker_pool`)"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from assay.index.row_blocks import IndexTask, RowBlock, index_range
from assay.store.sqlite import SqliteStore
from assay.util.worker_pool import serve_tasks


def _handler(task: IndexTask) -> Callable[[tuple[int, int]], Iterator[RowBlock]]:
    store = SqliteStore.open(task.store)
    store.db.execute("PRAGMA mmap_size = 0")  # the main process has mapped the pages already
    return lambda row_range: index_range(store, task, row_range)


if __name__ == "__main__":
    serve_tasks(_handler)
