from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from assay.bench.rb006.world import World, build_world
from tests.bench.rb006.loopback_chat import Answer, LoopbackChat
from tests.bench.rb006.small_world import SEED, STAGES


@pytest.fixture(scope="session")
def world() -> World:
    """A dev world with small stages: 12, 16 and 20 departments. Its scale is four departments."""
    return build_world(SEED, "dev", 2_000, stages=STAGES)


@pytest.fixture
def serve() -> Iterator[Callable[[Answer], LoopbackChat]]:
    """Starts language models on loopback that answer as told; all of them stop with the test."""
    servers: list[LoopbackChat] = []

    def start(answer: Answer) -> LoopbackChat:
        servers.append(LoopbackChat(answer))
        return servers[-1]

    yield start
    for one in servers:
        one.server.shutdown()
        one.server.server_close()
