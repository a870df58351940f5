"""One service for all: opened once, tried again after a failure, drained before it closes, whole after a cancel."""

import threading

import anyio
import pytest

from assay.errors import StoreError
from assay.serve.shared_service import MAX_CONCURRENT, SharedService
from tests.serve.client import run


class Service:
    """Counts what happens to it."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


def test_it_opens_once_for_many():
    opened: list[Service] = []

    def opening() -> Service:
        opened.append(Service())
        return opened[-1]

    async def talk() -> None:
        shared = SharedService(opening)
        assert not opened
        async with anyio.create_task_group() as group:
            for _ in range(3 * MAX_CONCURRENT):
                group.start_soon(shared.run, lambda service: service.done.append("x"))
        await shared.close()

    run(talk)
    assert [service.done for service in opened] == [["x"] * 3 * MAX_CONCURRENT]
    assert opened[0].closed == 1


def test_four_calls_run_side_by_side_and_the_others_wait():
    together = threading.Barrier(4)

    async def talk() -> None:
        shared = SharedService(Service)
        async with anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(shared.run, lambda _: together.wait(60))  # broken where fewer than four run at once
        await shared.close()

    run(talk)
    assert not together.broken
    assert MAX_CONCURRENT == 4


def test_a_failed_opening_is_tried_again(caplog):
    tries = iter([StoreError("not yet"), StoreError("not yet"), None])

    def opening() -> Service:
        error = next(tries)
        if error is not None:
            raise error
        return Service()

    async def talk() -> None:
        shared = SharedService(opening)
        await shared.warm()  # says so in the log, and raises nothing
        with pytest.raises(StoreError, match="not yet"):
            await shared.run(lambda _: None)
        assert await shared.run(lambda _: "well") == "well"

    run(talk)
    assert "the service does not open: not yet" in caplog.text


def test_a_cancelled_call_ends_what_it_began():
    begun, go = threading.Event(), threading.Event()
    service = Service()

    def write(it: Service) -> None:
        begun.set()
        go.wait()
        it.done.append("whole")

    async def talk() -> None:
        shared = SharedService(lambda: service)
        async with anyio.create_task_group() as group:
            group.start_soon(shared.run, write)
            await anyio.to_thread.run_sync(begun.wait)
            group.cancel_scope.cancel()
            go.set()
        assert service.done == ["whole"]

    run(talk)


def test_closing_waits_for_calls_that_run_and_begins_no_other():
    begun, go = threading.Event(), threading.Event()
    service = Service()

    def write(it: Service) -> None:
        begun.set()
        go.wait()
        assert not it.closed
        it.done.append("whole")

    async def talk() -> None:
        shared = SharedService(lambda: service)
        async with anyio.create_task_group() as group:
            group.start_soon(shared.run, write)
            await anyio.to_thread.run_sync(begun.wait)
            group.start_soon(shared.close)
            await anyio.wait_all_tasks_blocked()
            assert not service.closed
            go.set()
        assert (service.done, service.closed) == (["whole"], 1)
        with anyio.move_on_after(0.05) as late:
            await shared.run(lambda it: it.done.append("late"))
        assert late.cancelled_caught

    run(talk)
    assert service.done == ["whole"]
