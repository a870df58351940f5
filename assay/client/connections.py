"""Sends calls over HTTP, in this thread or in an event loop; refused requests are tried again after Retry-After."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Any, TypeVar

from assay.client.endpoints import Call, Endpoints
from assay.client.results import ServerError
from assay.errors import MissingExtra

try:
    import httpx
except ModuleNotFoundError as error:
    raise MissingExtra("the client", "http") from error

T = TypeVar("T")
RETRIED = (429, 503)
"""Statuses of requests of which nothing ran."""
MOST_WAIT = 30.0


class _Connection(Endpoints):
    """What both clients share. `retries` is how often a refused request is sent again."""

    def __init__(self, url: str, key: str | None, retries: int) -> None:
        self.url = url.rstrip("/")
        self.retries = retries
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    def _wait(self, response: httpx.Response, tried: int) -> float | None:
        """Seconds to wait before the next try; None when there is none."""
        if response.status_code not in RETRIED or tried >= self.retries:
            return None
        given = response.headers.get("retry-after", "1")
        return min(MOST_WAIT, float(given) if given.isdigit() else 1.0)


class Client(_Connection):
    """A client of one server; use it as a context manager or close it. Safe to share between threads."""

    def __init__(self, url: str, key: str | None = None, *, timeout: float = 30.0, retries: int = 2) -> None:
        super().__init__(url, key, retries)
        self._http = httpx.Client(base_url=self.url, headers=self._headers, timeout=timeout)

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def send(self, call: Call[T]) -> T:
        """Send a call and read its answer; ServerError when the server refuses it."""
        tried = 0
        while True:
            with _translated(self.url), self._http.stream(**_request(call)) as response:
                wait = self._wait(response, tried)
                if wait is None:
                    if response.is_success and call.on_event is not None:
                        events = _EventReader(call)
                        for line in response.iter_lines():
                            events.read(line)
                        return call.parse(events.result())
                    response.read()
                    return _parse(call, response)
            time.sleep(wait)
            tried += 1


class AsyncClient(_Connection):
    """The same for asyncio: every method is a coroutine."""

    def __init__(self, url: str, key: str | None = None, *, timeout: float = 30.0, retries: int = 2) -> None:
        super().__init__(url, key, retries)
        self._http = httpx.AsyncClient(base_url=self.url, headers=self._headers, timeout=timeout)

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def send(self, call: Call[T]) -> T:
        """Send a call and read its answer; ServerError when the server refuses it."""
        tried = 0
        while True:
            with _translated(self.url):
                async with self._http.stream(**_request(call)) as response:
                    wait = self._wait(response, tried)
                    if wait is None:
                        if response.is_success and call.on_event is not None:
                            events = _EventReader(call)
                            async for line in response.aiter_lines():
                                events.read(line)
                            return call.parse(events.result())
                        await response.aread()
                        return _parse(call, response)
            await asyncio.sleep(wait)
            tried += 1


class _EventReader:
    """Reads server-sent events line by line; the last one is the result."""

    def __init__(self, call: Call[Any]) -> None:
        self._call = call
        self._name = ""
        self._last: tuple[str, Mapping[str, Any]] = ("", {})

    def read(self, line: str) -> None:
        if line.startswith("event: "):
            self._name = line.removeprefix("event: ")
        elif line.startswith("data: ") and self._call.on_event is not None:
            self._last = (self._name, json.loads(line.removeprefix("data: ")))
            self._call.on_event(*self._last)

    def result(self) -> Mapping[str, Any]:
        name, data = self._last
        if name == "done":
            return data
        if name == "error":
            raise ServerError(int(data["status"]), str(data["detail"]), str(data["cure"] or ""))
        raise ServerError(0, "the server ended before it was done", "see its log, and send it again")


@contextmanager
def _translated(url: str) -> Iterator[None]:
    """Turn errors of the connection into ServerError."""
    try:
        yield
    except httpx.TimeoutException as error:
        raise ServerError(0, f"{url} did not answer in time", "give more time: timeout=…") from error
    except httpx.TransportError as error:
        raise ServerError(0, f"{url} cannot be reached: {error}", "is it running? assay serve") from error


def _request(call: Call[Any]) -> dict[str, Any]:
    sent: dict[str, Any] = {"method": call.method, "url": call.path, "params": dict(call.params)}
    if call.json is not None:
        sent["json"] = call.json
    if call.content is not None:
        sent |= {"content": call.content, "headers": {"Content-Type": "application/octet-stream"}}
    return sent


def _parse(call: Call[T], response: httpx.Response) -> T:
    if response.is_success:
        return call.parse(response.json())
    try:
        problem = response.json()
        message, cure = str(problem["detail"]), str(problem.get("cure") or "")
    except (ValueError, KeyError, TypeError):
        message, cure = f"the server answered {response.status_code}", "is this the address of assay serve?"
    raise ServerError(response.status_code, message, cure, response.headers.get("x-request-id", ""))
