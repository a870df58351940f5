"""Real child processes for the tests of this folder."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from child import Child

sys.path.insert(0, str(Path(__file__).parents[1] / "store"))  # `disks`: small and read-only ones


@pytest.fixture(scope="session")
def _children() -> Iterator[list[Child]]:
    made: list[Child] = []
    yield made
    for child in made:
        child.close()


@pytest.fixture
def children(_children: list[Child]) -> Callable[[int], list[Child]]:
    """That many processes, warm and idle."""

    def give(count: int) -> list[Child]:
        while len(_children) < count:
            _children.append(Child())
        for child in _children:
            if child.pid:
                child.kill()
        return _children[:count]

    return give
