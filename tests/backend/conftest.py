"""Fixtures of the backend tests."""

from __future__ import annotations

from pathlib import Path

import pytest

ADDRESSES = ("kb", "notes.sqlite", "books.lance", "postgres")


@pytest.fixture(params=ADDRESSES)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a new store, once for each backend."""
    if request.param == "postgres":
        return str(request.getfixturevalue("database"))
    if request.param.endswith(".lance"):
        pytest.importorskip("lancedb", reason="the extra `lance` is not installed")
    return str(tmp_path / request.param)
