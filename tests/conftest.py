"""What all tests share: property tests have no deadline, because a busy machine is no bug; one database server, one way
to name a store wherever it is kept."""

from hypothesis import settings

from tests.places import any_store, graph_stores, vector_store
from tests.servers import database, postgres

__all__ = ["any_store", "database", "graph_stores", "postgres", "vector_store"]

settings.register_profile("assay", deadline=None)
settings.load_profile("assay")
