"""What all tests share: how property tests draw; one database server, one way to name a store wherever it is kept.

Property tests have no deadline, because a busy machine is no bug, and draw the same examples in every run, so that a
red run is about the change and can be repeated. `ASSAY_EXPLORE=1` draws new ones each time: for hunting.
"""

import os

from hypothesis import settings

from tests.places import any_store, graph_stores, vector_store
from tests.qdrant_nodes import indexed, qdrant
from tests.servers import database, postgres

__all__ = ["any_store", "database", "graph_stores", "indexed", "postgres", "qdrant", "vector_store"]

# Nothing that the person who runs the tests allows, or configures, reaches a test.
os.environ.pop("ASSAY_ALLOW", None)
os.environ["XDG_CONFIG_HOME"] = os.devnull

settings.register_profile("assay", deadline=None, derandomize="ASSAY_EXPLORE" not in os.environ)
settings.load_profile("assay")
