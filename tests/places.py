"""Where a store may be kept: one address for each backend, so that a test says once what must hold in all of them."""

import os
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from assay.backend.addresses import create_backend
from assay.testing.postgres import PostgresServer

_NUMBERS = count(1)
PLAIN = {"embedder": "none", "model": "", "dim": 0, "language": "english", "profile": "default"}
"""The settings of a store without vectors."""


def _address(kind: str, request: pytest.FixtureRequest, folder: Path) -> str:
    if kind == "postgres":
        return str(request.getfixturevalue("database"))
    if kind == "qdrant":
        return str(request.getfixturevalue("indexed"))
    if kind.endswith(".lance"):
        pytest.importorskip("lancedb", reason="the extra `lance` is not installed")
    return str(folder / kind)


@pytest.fixture(params=["kb", "notes.sqlite", "kb.lance", "postgres"])
def any_store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a store that is not there yet."""
    return _address(request.param, request, tmp_path)


@pytest.fixture(params=["kb", "kb.lance", "postgres", "qdrant"])
def vector_store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a store, not there yet, that can hold vectors."""
    return _address(request.param, request, tmp_path)


@pytest.fixture(params=["kb", "postgres"])
def graph_stores(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[], Any]]:
    """Makes a new, empty store without vectors, of a kind that keeps a graph, whenever it is called; the last two are
    open."""
    server: PostgresServer | None = request.getfixturevalue("postgres") if request.param == "postgres" else None
    folder = tmp_path_factory.mktemp("stores")
    made: list[Any] = []

    def make() -> Any:
        if len(made) == 2:
            made.pop(0).close()
        name = f"g{os.getpid()}_{next(_NUMBERS)}"
        made.append(create_backend(server.address(name) if server else str(folder / name), PLAIN))
        return made[-1]

    yield make
    for backend in made:
        backend.close()
