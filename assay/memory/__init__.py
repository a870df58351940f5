"""What should an agent remember, and when should it look? Remember, recall, forget, over a knowledge base.

open       the memory in a folder; `MemoryService` has store, recall, forget, update, list, stats, explain, history
adaptive   does this message need memory at all?
config     the configuration of 002 under its own names, as a pipeline
scopes     who may see what; window: the one boundary that enforces it
near       is this known already?
purge      removing every trace, and saying what cannot be reached
importers  memories from other programs
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.engine.pipeline import Pipeline
    from assay.memory.service import MemoryService

__all__ = ["open"]


def open(
    path: str | Path,
    *,
    embedder: str = "auto",
    create: bool = True,
    clock: Callable[[], float] = time.time,
    pipeline: str | Pipeline = "memory",
) -> MemoryService:
    """Open the memory in a folder, making it when it is not there yet; see `assay.memory.service.open`."""
    from assay.memory import service  # adaptive retrieval and the config need no knowledge base

    return service.open(path, embedder=embedder, create=create, clock=clock, pipeline=pipeline)
