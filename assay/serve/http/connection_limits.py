"""Limits of an HTTP server on a loopback address: slow, silent and foreign clients are sent away.

A connection is closed when its request line and headers are not complete within `HEADER_SECONDS`, when it is idle
between requests for `IDLE_SECONDS`, and when its client does not read an answer for `WRITE_SECONDS`. Request line and
headers have at most `HEADER_BYTES` (431, or 400 without httptools). A body must be complete within `BODY_SECONDS` (408)
and within the caller's number of bytes (413). A client that hangs up ends its request without a word. A request that a
web page of another origin sends is refused (403).
"""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import h11
import uvicorn
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 10.0
HEADER_BYTES = 65_536
"""As in uvicorn's protocol in Python, which has this limit itself."""
BODY_SECONDS = 30.0
WRITE_SECONDS = 30.0
IDLE_SECONDS = 5
MAX_CONNECTIONS = 256
"""Connections and running requests at once; above it the answer is 503."""
GRACE_SECONDS = 2
"""How long open connections may go on after a signal to stop."""
CLIENT_CLOSED_REQUEST = 499
"""The status of a request whose client hung up; nobody receives it."""


def make_server_config(
    app: ASGIApp, grace_seconds: int = GRACE_SECONDS, connections: int = MAX_CONNECTIONS
) -> uvicorn.Config:
    """The settings of a uvicorn server with these limits."""
    return uvicorn.Config(
        app,
        http=fastest_protocol(),
        log_level="warning",
        access_log=False,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=grace_seconds,
        limit_concurrency=connections,
    )


class ConnectionTimers:
    """Timers of one connection, for a protocol of uvicorn: for headers, and for a client that does not read."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)  # type: ignore[misc]
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._expect_headers()

    def pause_writing(self) -> None:
        super().pause_writing()  # type: ignore[misc]
        self._start_timer("write", WRITE_SECONDS)

    def resume_writing(self) -> None:
        super().resume_writing()  # type: ignore[misc]
        self._cancel_timer("write")

    def connection_lost(self, exc: Exception | None) -> None:
        for name in tuple(self._timers):
            self._cancel_timer(name)
        super().connection_lost(exc)  # type: ignore[misc]

    def _expect_headers(self) -> None:
        self._start_timer("headers", HEADER_SECONDS)

    def _start_timer(self, name: str, seconds: float) -> None:
        """Abort the connection after some seconds, unless the timer runs already or is cancelled."""
        if name not in self._timers:
            self._timers[name] = self.loop.call_later(seconds, self.transport.abort)  # type: ignore[attr-defined]

    def _cancel_timer(self, name: str) -> None:
        if (timer := self._timers.pop(name, None)) is not None:
            timer.cancel()


class LimitedProtocol(ConnectionTimers, H11Protocol):
    """uvicorn's HTTP/1.1 protocol in Python with these limits."""

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:  # the next request has begun; more bytes do not prolong its time
            self._expect_headers()
        else:
            self._cancel_timer("headers")


def fastest_protocol() -> type[asyncio.Protocol]:
    """The protocol in C where httptools is installed (the extra `serve`), else the one in Python: a server shares its
    interpreter with the search, and the one in Python takes four times as long."""
    try:
        from assay.serve.http.httptools_protocol import LimitedHttptoolsProtocol
    except ModuleNotFoundError:
        return LimitedProtocol
    return LimitedHttptoolsProtocol


class SameOriginMiddleware:
    """Refuses requests of web pages from elsewhere: an Origin must be the Host that the request names.

    A browser sends Origin with every request that could change something. The Host must be checked too, against DNS
    rebinding; that is starlette's TrustedHostMiddleware.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            own = f"{scope['scheme']}://{headers.get('host', '')}".lower()
            foreign = [origin for origin in headers.getlist("origin") if origin.lower() != own]
            if foreign:
                response = JSONResponse({"detail": "requests of web pages from another origin are refused"}, 403)
                await response(scope, receive, send)
                return
        await self.app(scope, receive, send)


async def read_body(request: Request, max_bytes: int) -> bytes:
    """The body of a request; HTTPException 413 when it is too long, 408 when it does not arrive in time."""
    too_long = HTTPException(413, f"a request has at most {max_bytes} bytes")
    announced = request.headers.get("content-length", "0")
    if announced.isdigit() and int(announced) > max_bytes:
        raise too_long
    body = bytearray()
    try:
        with anyio.fail_after(BODY_SECONDS):
            async for block in request.stream():
                body += block
                if len(body) > max_bytes:
                    raise too_long
    except TimeoutError as error:
        raise HTTPException(
            408, f"the body was not complete after {BODY_SECONDS:.0f} seconds", {"Connection": "close"}
        ) from error
    return bytes(body)


async def on_disconnect(_: Request, error: Exception) -> Response:
    """The exception handler for `ClientDisconnect`: without it every client that hangs up logs a traceback."""
    assert isinstance(error, ClientDisconnect)
    return Response(status_code=CLIENT_CLOSED_REQUEST)


DISCONNECT_HANDLERS: dict[Any, Any] = {ClientDisconnect: on_disconnect}
