"""Creates and opens stores in PostgreSQL databases, shared by a team."""

from __future__ import annotations

from collections.abc import Mapping
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
        return PostgresStore.exists(Address.parse(address))

    def create(self, address: str, settings: Mapping[str, Any]) -> PostgresBackend:
        return PostgresBackend(PostgresStore.create(Address.parse(address), settings), NO_VECTORS)

    def open(self, address: str) -> PostgresBackend:
        return PostgresBackend(PostgresStore.open(Address.parse(address)), NO_VECTORS)


FACTORY: BackendFactory = PostgresFactory()
