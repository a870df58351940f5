"""One service for all clients of a server: opened on first use, called in worker threads, drained before it closes."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

import anyio
import anyio.to_thread

_log = logging.getLogger("assay.serve")

MAX_CONCURRENT = 4
"""Calls that run at the same time; others wait."""


class SupportsClose(Protocol):
    def close(self) -> None: ...


S = TypeVar("S", bound=SupportsClose)
T = TypeVar("T")


class SharedService(Generic[S]):
    """Gives one service to every client of a server.

    It opens in the background, so that a handshake is answered while the engine loads. If opening fails, the next call
    tries again, so that a cure needs no restart. A call that its client cancelled still runs to its end, so writes are
    complete.
    """

    def __init__(self, open: Callable[[], S]) -> None:
        self._open = open
        self._opening = threading.Lock()
        self._service: S | None = None
        self._limiter = anyio.CapacityLimiter(MAX_CONCURRENT)

    def service(self) -> S:
        """The service, opened by the first caller."""
        with self._opening:
            if self._service is None:
                self._service = self._open()
            return self._service

    async def run(self, work: Callable[[S], T]) -> T:
        """Call `work` with the service in a worker thread."""
        return await anyio.to_thread.run_sync(lambda: work(self.service()), limiter=self._limiter)

    async def warm(self) -> None:
        """Open the service before the first call; a failure is logged here and raised to callers."""
        try:
            await self.run(lambda _: None)
        except Exception as error:
            _log.warning("the service does not open: %s", error)

    async def close(self) -> None:
        """Wait for running calls, start no others, and close the service."""
        with anyio.CancelScope(shield=True):
            for slot in range(MAX_CONCURRENT):
                await self._limiter.acquire_on_behalf_of(slot)
            with self._opening:
                if self._service is not None:
                    await anyio.to_thread.run_sync(self._service.close, limiter=anyio.CapacityLimiter(1))
                    self._service = None


class ServiceGroup:
    """The services of one server, opened and closed together."""

    def __init__(self, *services: SharedService[Any] | None) -> None:
        self._services = [service for service in services if service is not None]

    async def warm(self) -> None:
        for service in self._services:
            await service.warm()

    async def close(self) -> None:
        for service in self._services:
            await service.close()
