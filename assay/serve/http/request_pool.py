"""A bounded pool of worker threads for requests: so many run, so many wait, and one more is refused at once."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from assay.errors import AssayError, ConfigError

T = TypeVar("T")
S = TypeVar("S")
_SMOOTHING = 0.1
"""The weight of the newest request in the running mean of their times."""


class Overloaded(AssayError):
    """As many requests wait as may; this one was refused, and nothing of it ran."""

    def __init__(self, retry_after: int) -> None:
        super().__init__("the server is busy; this request was not started", f"try again in {retry_after} s")
        self.retry_after = retry_after


class RequestPool:
    """Runs requests in `workers` threads and accepts at most `waiting` more. All calls come from one event loop.

    A request whose client disconnects keeps its thread until it is done, so writes are complete.
    """

    def __init__(self, workers: int, waiting: int) -> None:
        if workers < 1 or waiting < 0:
            raise ConfigError(f"workers = {workers}, waiting = {waiting}", "give at least one worker, waiting from 0")
        self.workers = workers
        self.waiting = waiting
        self._executor = ThreadPoolExecutor(workers, "assay-request")
        self._lock = threading.Lock()
        self._inside = 0
        self.refused = 0
        """Requests that were not accepted."""
        self._closed = False
        self._mean_seconds = 0.05

    @property
    def inside(self) -> int:
        """Requests that run or wait."""
        return self._inside

    async def run(self, work: Callable[[], T]) -> T:
        """Run one request; Overloaded when the pool is full."""
        self._enter()
        return await self._submit(work, last=True)

    async def map(self, work: Callable[[S], T], items: Iterable[S]) -> list[T]:
        """Run the parts of one request, at most as many at a time as there are workers, and keep their order."""
        self._enter()
        try:
            slots = asyncio.Semaphore(self.workers)

            async def one(item: S) -> T:
                async with slots:
                    return await self._submit(lambda: work(item), last=False)

            return list(await asyncio.gather(*map(one, items)))
        finally:
            self._leave()

    async def close(self) -> None:
        """Accept nothing more and wait until the accepted requests are done."""
        self._closed = True
        await asyncio.to_thread(self._executor.shutdown, True)

    def _enter(self) -> None:
        with self._lock:
            if self._closed or self._inside >= self.workers + self.waiting:
                self.refused += 1
                raise Overloaded(self._retry_after())
            self._inside += 1

    def _leave(self) -> None:
        with self._lock:
            self._inside -= 1

    def _retry_after(self) -> int:
        """Seconds until the waiting requests are done, by the mean time of those before; from 1 to 60."""
        return min(60, max(1, math.ceil(self._mean_seconds * self._inside / self.workers)))

    async def _submit(self, work: Callable[[], T], last: bool) -> T:
        try:
            future: Future[T] = self._executor.submit(self._timed, work)
        except RuntimeError:  # the executor was shut down meanwhile
            if last:
                self._leave()
            raise Overloaded(1) from None
        if last:
            future.add_done_callback(lambda _: self._leave())
        return await asyncio.wrap_future(future)

    def _timed(self, work: Callable[[], T]) -> T:
        start = time.perf_counter()
        try:
            return work()
        finally:
            self._mean_seconds += _SMOOTHING * (time.perf_counter() - start - self._mean_seconds)
