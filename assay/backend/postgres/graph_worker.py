"""python -m assay.backend.postgres.graph_worker     reads ranges of a server's rows for the graph"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from assay.backend.postgres.connections import Address
from assay.backend.postgres.store import PostgresStore
from assay.index.graph_rows import GraphTask, gather_mentions
from assay.util.worker_pool import serve_tasks


def _handler(work: GraphTask) -> Callable[[tuple[int, int]], Iterator[int]]:
    assert isinstance(work.store, tuple)
    url, schema, shown = work.store
    store = PostgresStore.open(Address(url, schema, shown))
    return lambda place: gather_mentions(store, work, place)


if __name__ == "__main__":
    serve_tasks(_handler)
