"""What all tests share: how property tests draw; one database server, one way to name a store wherever it is kept.

Property tests have no deadline, because a busy machine is no bug, and draw the same examples in every run, so that a
red run is about the change and can be repeated. `ASSAY_EXPLORE=1` draws new ones each time: for hunting.
"""

import os
import signal

import pytest
from hypothesis import settings

from tests.places import any_store, graph_stores, vector_store
from tests.qdrant_nodes import indexed, qdrant
from tests.servers import database, postgres

__all__ = ["any_store", "database", "graph_stores", "indexed", "postgres", "qdrant", "vector_store"]

# Nothing that the person who runs the tests allows, or configures, reaches a test.
os.environ.pop("ASSAY_ALLOW", None)
os.environ["XDG_CONFIG_HOME"] = os.devnull

# A shell's background job ignores SIGINT, and so would every process that a test interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("assay", deadline=None, derandomize="ASSAY_EXPLORE" not in os.environ)
settings.load_profile("assay")


@pytest.fixture(autouse=True)
def no_progress_lines(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long work writes lines to stderr, and on a busy machine any work is long. They are tested in test_progress.py."""
    if request.module.__name__.rpartition(".")[2] != "test_progress":
        monkeypatch.setattr("assay.cli.progress.LOG_AFTER_S", float("inf"))
