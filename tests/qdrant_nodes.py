"""One Qdrant server for a run of tests, and the addresses of stores that have their index in it."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator

import pytest

from assay.errors import StoreError
from assay.testing.qdrant import QdrantNodes, fetch_binary, find_binary


def require_qdrant() -> None:
    """Skip where there is no server to be had; where one is required, its absence is a failure."""
    why = _missing()
    if why and os.environ.get("ASSAY_REQUIRE_QDRANT", "") not in ("", "0"):
        pytest.fail(f"ASSAY_REQUIRE_QDRANT is set, but {why}")
    if why:
        pytest.skip(why)


def _missing() -> str:
    if importlib.util.find_spec("qdrant_client") is None:
        return "qdrant-client is not installed (pip install -e '.[qdrant]')"
    if find_binary() is None:
        try:
            fetch_binary()
        except StoreError as error:
            return f"there is no binary of Qdrant: {error.message}"
    return ""


@pytest.fixture(scope="session")
def qdrant() -> Iterator[QdrantNodes]:
    """A single server that every test of this process shares."""
    require_qdrant()
    with QdrantNodes.start() as nodes:
        yield nodes


@pytest.fixture
def indexed(database: str, qdrant: QdrantNodes) -> str:
    """The address of a store, not there yet, in PostgreSQL with its index in Qdrant; vectors are exact."""
    return f"{database}&index={qdrant.address}&index_vectors=exact"
