"""A memory without a model, under a clock that tests set."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from assay import memory
from assay.memory.service import MemoryService
from assay.types import DAY


class Clock:
    """Stands still until it is told to move on."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def pass_days(self, days: float) -> None:
        self.now += days * DAY


START = 1_772_323_200.0
"""2026-03-01"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Caches of its own, and no model: what is installed on a machine must not change what is recalled."""
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    for key in ("JINA_API_KEY", "ASSAY_STORE"):
        monkeypatch.delenv(key, raising=False)
    return tmp_path / "home"


@pytest.fixture
def clock() -> Clock:
    return Clock(START)


@pytest.fixture
def mem(tmp_path: Path, clock: Clock, home: Path) -> Iterator[MemoryService]:
    with memory.open(tmp_path / "m", embedder="none", clock=clock) as built:
        yield built
