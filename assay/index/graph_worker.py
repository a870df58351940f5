"""python -m assay.index.graph_worker     a worker that reads ranges of rows for the graph (`assay.util.worker_pool`)"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from assay.index.graph_rows import GraphTask, gather_mentions
from assay.store.sqlite import SqliteStore
from assay.util.worker_pool import serve_tasks


def _handler(task: GraphTask) -> Callable[[tuple[int, int]], Iterator[int]]:
    assert isinstance(task.store, Path)
    store = SqliteStore.open(task.store)
    store.db.execute("PRAGMA mmap_size = 0")  # the main process has mapped the pages already
    return lambda row_range: gather_mentions(store, task, row_range)


if __name__ == "__main__":
    serve_tasks(_handler)
