"""What all tests share: property tests have no deadline, because a busy machine is no bug; one database server."""

from hypothesis import settings

from tests.servers import database, postgres

__all__ = ["database", "postgres"]

settings.register_profile("assay", deadline=None)
settings.load_profile("assay")
