from __future__ import annotations

import pytest

from assay.bench.rb006.world import World, build_world
from tests.bench.rb006.small_world import SEED, STAGES


@pytest.fixture(scope="session")
def world() -> World:
    """A dev world with small stages: 12, 16 and 20 departments. Its scale is four departments."""
    return build_world(SEED, "dev", 2_000, stages=STAGES)
