"""One service behind one counter: opened when first needed, worked in threads, drained before it closes."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

import anyio
import anyio.to_thread

_log = logging.getLogger("assay.serve")

AT_ONCE = 4
"""Calls that run side by side; the others wait their turn."""


class Closes(Protocol):
    def close(self) -> None: ...


S = TypeVar("S", bound=Closes)
T = TypeVar("T")


class SharedService(Generic[S]):
    """Hands out one service to every client of a server.

    It opens in the background, so that a handshake is answered while the engine is loaded; an opening that failed is
    tried again by the next call, so that its cure needs no restart. A call that a client cancelled still ends what it
    began: what is written is whole.
    """

    def __init__(self, open: Callable[[], S]) -> None:
        self._open = open
        self._opening = threading.Lock()
        self._service: S | None = None
        self._limiter = anyio.CapacityLimiter(AT_ONCE)

    def service(self) -> S:
        """The service, opened by whoever comes first."""
        with self._opening:
            if self._service is None:
                self._service = self._open()
            return self._service

    async def run(self, work: Callable[[S], T]) -> T:
        """Do one piece of work in a thread."""
        return await anyio.to_thread.run_sync(lambda: work(self.service()), limiter=self._limiter)

    async def warm(self) -> None:
        """Open the service before the first call needs it; why it would not open is said in the log, and to callers."""
        try:
            await self.run(lambda _: None)
        except Exception as error:
            _log.warning("the service does not open: %s", error)

    async def close(self) -> None:
        """Let the calls that run end, begin no other, and close the service."""
        with anyio.CancelScope(shield=True):
            for place in range(AT_ONCE):
                await self._limiter.acquire_on_behalf_of(place)
            with self._opening:
                if self._service is not None:
                    await anyio.to_thread.run_sync(self._service.close, limiter=anyio.CapacityLimiter(1))
                    self._service = None
