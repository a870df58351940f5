"""The memory service for asyncio: the same methods as coroutines, run in worker threads.

async with await assay.memory.open_async("~/.assay-memory") as memory:
    await memory.store("Ada lives in Lisbon.")
    answer = await memory.recall("Where does Ada live?", scope="global")
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from assay.memory.service import MemoryService
from assay.memory.types import (
    ForgetOutcome,
    ImportOutcome,
    MemoryChange,
    MemoryEntry,
    MemoryExplanation,
    MemoryStats,
    RecallAnswer,
    StoreOutcome,
)

P = ParamSpec("P")
T = TypeVar("T")


class AsyncMemoryService:
    """A `MemoryService` whose methods are coroutines; arguments are the same. A cancelled call runs to its end."""

    def __init__(self, memory: MemoryService) -> None:
        self.memory = memory

    async def __aenter__(self) -> AsyncMemoryService:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await asyncio.to_thread(self.memory.close)

    async def store(self, text: str, **options: Any) -> StoreOutcome:
        return await asyncio.to_thread(self.memory.store, text, **options)

    async def store_many(self, memories: Iterable[str | Mapping[str, Any]], **options: Any) -> tuple[StoreOutcome, ...]:
        return await asyncio.to_thread(self.memory.store_many, memories, **options)

    async def update(self, id: str, **options: Any) -> MemoryEntry:
        return await asyncio.to_thread(self.memory.update, id, **options)

    async def forget(self, id: str | None = None, **options: Any) -> ForgetOutcome:
        return await asyncio.to_thread(self.memory.forget, id, **options)

    async def recall(self, query: str, **options: Any) -> RecallAnswer:
        return await asyncio.to_thread(self.memory.recall, query, **options)

    async def recall_many(self, queries: Iterable[str], **options: Any) -> tuple[RecallAnswer, ...]:
        return await asyncio.to_thread(self.memory.recall_many, queries, **options)

    async def explain(self, query: str, id: str, **options: Any) -> MemoryExplanation:
        return await asyncio.to_thread(self.memory.explain, query, id, **options)

    async def get(self, id: str, **options: Any) -> MemoryEntry:
        return await asyncio.to_thread(self.memory.get, id, **options)

    async def list(self, **options: Any) -> tuple[MemoryEntry, ...]:
        return await asyncio.to_thread(self.memory.list, **options)

    async def stats(self, scope: str | Iterable[str], **options: Any) -> MemoryStats:
        return await asyncio.to_thread(self.memory.stats, scope, **options)

    async def history(self, id: str, **options: Any) -> tuple[MemoryChange, ...]:
        return await asyncio.to_thread(self.memory.history, id, **options)

    async def export(self, scope: str | Iterable[str]) -> tuple[str, ...]:
        return await asyncio.to_thread(_read_all, self.memory.export, scope)

    async def import_(self, source: Any, **options: Any) -> ImportOutcome:
        return await asyncio.to_thread(self.memory.import_, source, **options)


def _read_all(export: Callable[P, Iterable[T]], *args: P.args, **options: P.kwargs) -> tuple[T, ...]:
    return tuple(export(*args, **options))
