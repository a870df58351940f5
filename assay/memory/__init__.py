"""Memory for agents: store, recall and forget short texts over a knowledge base.

open        opens the memory in a folder as a `MemoryService`
adaptive    decides whether a message needs memory at all
config      converts a configuration in the memory pipeline's own keys into a pipeline
scopes      access rules; scoped_view: the one boundary that enforces them
duplicates  is this known already?   conflicts: what may it replace?
safety      secrets, and limits of a scope
remember    stores one memory or a batch; pending, scope_neighbours: what a batch is compared with
purge      removing every trace, and saying what cannot be reached
importers  memories from other programs
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.engine.pipeline import Pipeline
    from assay.memory.async_service import AsyncMemoryService
    from assay.memory.safety import SecretPolicy, StoreLimits
    from assay.memory.service import MemoryService

__all__ = ["PRESET", "open", "open_async"]

PRESET = "recall"
"""The pipeline that recalls unless another is named; the specification's is the preset `memory`."""


def open(
    path: str | Path,
    *,
    embedder: str = "auto",
    create: bool = True,
    clock: Callable[[], float] = time.time,
    pipeline: str | Pipeline = PRESET,
    secrets: SecretPolicy = "refuse",
    limits: StoreLimits | None = None,
) -> MemoryService:
    """Open the memory in a folder, making it when it is not there yet; see `assay.memory.service.open`."""
    from assay.memory import service  # adaptive retrieval and the config need no knowledge base

    return service.open(
        path, embedder=embedder, create=create, clock=clock, pipeline=pipeline, secrets=secrets, limits=limits
    )


async def open_async(path: str | Path, **options: Any) -> AsyncMemoryService:
    """Open a memory for asyncio; the options are those of `open`."""
    import asyncio

    from assay.memory.async_service import AsyncMemoryService

    return AsyncMemoryService(await asyncio.to_thread(open, path, **options))
