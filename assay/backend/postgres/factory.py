"""Creates and opens stores in PostgreSQL databases, shared by a team."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from assay.backend.contract import BackendFactory
from assay.backend.postgres.backend import PostgresBackend
from assay.backend.postgres.connections import Address
from assay.backend.postgres.store import PostgresStore
from assay.errors import Reason

NO_VECTORS = Reason("this store was made without an embedding model", "assay model install, then assay reembed")


class PostgresFactory:
    """Implements `contract.BackendFactory`."""

    no_vectors = None

    def exists(self, address: str) -> bool:
        where = Address.parse(address)
        _index_opener(where)  # an address that cannot be read names no store, there or not
        return PostgresStore.exists(where)

    def create(self, address: str, settings: Mapping[str, Any]) -> PostgresBackend:
        where = Address.parse(address)
        open_index = _index_opener(where)  # first: nothing is created for an address that cannot be read
        return open_index(PostgresStore.create(where, settings))

    def open(self, address: str) -> PostgresBackend:
        where = Address.parse(address)
        return _index_opener(where)(PostgresStore.open(where))


def _index_opener(where: Address) -> Callable[[PostgresStore], PostgresBackend]:
    """What makes the backend of a store: with an index in Qdrant where the address names one."""
    if not where.index:
        return lambda store: PostgresBackend(store, NO_VECTORS)
    from assay.backend.qdrant.backend import IndexedBackend
    from assay.backend.qdrant.settings import parse_options  # only a store with such an index needs this

    address, settings = parse_options(dict(where.index))
    return lambda store: IndexedBackend(store, NO_VECTORS, address, settings)


FACTORY: BackendFactory = PostgresFactory()
