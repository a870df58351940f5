"""The service for asyncio and the batch recall give what the plain methods give."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path

import pytest

from assay import memory
from assay.errors import QueryError
from assay.memory.async_service import AsyncMemoryService
from assay.memory.service import MemoryService


def test_every_method_has_its_coroutine() -> None:
    plain = {name for name, member in inspect.getmembers(MemoryService, inspect.isfunction) if name[0] != "_"}
    coroutines = {name for name, _ in inspect.getmembers(AsyncMemoryService, inspect.iscoroutinefunction)}
    assert plain - coroutines == set()


def test_many_calls_at_once_lose_nothing(tmp_path: Path, home: Path) -> None:
    async def talk() -> None:
        async with await memory.open_async(tmp_path / "m", embedder="none") as mem:
            stored = await asyncio.gather(*(mem.store(f"Shelf {n} holds box {n * 7}.") for n in range(12)))
            assert len({outcome.id for outcome in stored}) == 12
            answers = await mem.recall_many(["which box is on shelf 3?", "thanks!"], scope="global", k=1)
            assert [hit.text for hit in answers[0].hits] == ["Shelf 3 holds box 21."]
            assert answers[1].skipped
            assert len(await mem.export("global")) == 12
            with pytest.raises(QueryError):
                await mem.recall("shelf?", scope=())

    asyncio.run(talk())


def test_two_agents_updating_one_memory_leave_one_whole_state(tmp_path: Path, home: Path) -> None:
    async def talk() -> None:
        async with await memory.open_async(tmp_path / "m", embedder="none") as mem:
            name = (await mem.store("The demo is on Monday.")).id
            texts = ["The demo is on Tuesday.", "The demo is on Wednesday."]
            await asyncio.gather(*(mem.update(name, scope="global", text=text) for text in texts))
            assert (await mem.get(name, scope="global")).text in texts
            states = [change.memory.text for change in await mem.history(name, scope="global")]
            assert states[0] == "The demo is on Monday."
            assert sorted(states[1:]) == texts

    asyncio.run(talk())
