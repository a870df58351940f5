"""Where a store may be kept: one address for each backend, so that a test says once what must hold in all of them."""

from pathlib import Path

import pytest


def _address(kind: str, request: pytest.FixtureRequest, folder: Path) -> str:
    if kind == "postgres":
        return str(request.getfixturevalue("database"))
    if kind.endswith(".lance"):
        pytest.importorskip("lancedb", reason="the extra `lance` is not installed")
    return str(folder / kind)


@pytest.fixture(params=["kb", "notes.sqlite", "kb.lance", "postgres"])
def any_store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a store that is not there yet."""
    return _address(request.param, request, tmp_path)


@pytest.fixture(params=["kb", "kb.lance", "postgres"])
def vector_store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a store, not there yet, that can hold vectors."""
    return _address(request.param, request, tmp_path)
