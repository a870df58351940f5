"""What every request passes before a route sees it: an id, the host and origin, the caller, its limits, the log.

Pure ASGI: a request costs no second task, and a stream of events passes through unchanged.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from assay.errors import Reason
from assay.serve.access import Caller
from assay.serve.http.connection_limits import BODY_SECONDS
from assay.serve.http.problems import error_response, problem_response
from assay.serve.http.settings import ServerSettings

UPLOAD_PATH = "/documents/upload"
REQUEST_ID = "X-Request-Id"
_VALID_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")

Authenticate = Callable[[Headers, str], Caller]
"""The caller of a request from its headers and address; raises Unauthorized or RateExceeded."""
Observe = Callable[[dict[str, Any]], None]
"""Takes the facts of a finished request: id, method, path, status, ms, caller."""


class RequestGuard:
    """The outermost layer of the app."""

    def __init__(self, app: ASGIApp, settings: ServerSettings, authenticate: Authenticate, observe: Observe) -> None:
        self._app = app
        self._settings = settings
        self._authenticate = authenticate
        self._observe = observe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start = time.perf_counter()
        headers = Headers(scope=scope)
        given = headers.get(REQUEST_ID, "")
        request_id = given if _VALID_ID.fullmatch(given) else uuid.uuid4().hex
        state = scope.setdefault("state", {})
        state["request_id"] = request_id
        status = 0

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                answer = MutableHeaders(scope=message)
                answer[REQUEST_ID] = request_id
                answer["X-Content-Type-Options"] = "nosniff"
            await send(message)

        try:
            problem = self._check_host(headers)
            if problem is not None:
                await problem_response(*problem, request_id)(scope, receive, send_with_id)
                return
            state["caller"] = self._authenticate(headers, (scope.get("client") or ("",))[0])
            upload = scope["path"] == UPLOAD_PATH
            limit = self._settings.upload_bytes if upload else self._settings.body_bytes
            await self._app(scope, _limited(receive, headers, limit, timed=not upload), send_with_id)
        except Exception as error:
            if status:  # the response has begun: nothing can be said any more
                raise
            await error_response(error, request_id)(scope, receive, send_with_id)
        finally:
            self._observe(
                {
                    "request_id": request_id,
                    "method": scope["method"],
                    "path": scope["path"],
                    "route": getattr(scope.get("route"), "path", ""),
                    "status": status,
                    "ms": round((time.perf_counter() - start) * 1000.0, 3),
                    "caller": getattr(state.get("caller"), "name", None),
                }
            )

    def _check_host(self, headers: Headers) -> tuple[int, str, Reason] | None:
        """DNS rebinding: a page whose name points to this machine sends its own name as Host, and as Origin."""
        host = headers.get("host", "")
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        if "*" not in self._settings.hosts and name.lower() not in self._settings.hosts:
            return (
                421,
                "wrong-host",
                Reason(f"this server is not called {name[:100]!r}", "start it with --host-name NAME"),
            )
        origins = headers.getlist("origin")
        if all(urlsplit(origin).netloc == host or origin in self._settings.origins for origin in origins):
            return None
        return (
            403,
            "wrong-origin",
            Reason("pages of another site may not use this server", "start it with --origin URL"),
        )


def _limited(receive: Receive, headers: Headers, limit: int, timed: bool) -> Receive:
    """Pass a body on until it is longer than it may be, or takes longer."""
    length = headers.get("content-length", "0")
    if length.isdigit() and int(length) > limit:
        raise_later = HTTPException(413, f"a body has at most {limit:,} bytes here, this one {int(length):,}")

        async def refuse() -> Message:
            raise raise_later

        return refuse
    received, complete, deadline = 0, False, time.monotonic() + BODY_SECONDS

    async def count() -> Message:
        nonlocal received, complete
        if complete:
            return await receive()
        try:
            with anyio.fail_after(max(0.0, deadline - time.monotonic()) if timed else None):
                message = await receive()
        except TimeoutError:
            text = f"the body was not complete after {BODY_SECONDS:.0f} seconds"
            raise HTTPException(408, text, {"Connection": "close"}) from None
        if message["type"] == "http.request":
            received += len(message.get("body", b""))
            complete = not message.get("more_body", False)
            if received > limit:
                raise HTTPException(413, f"a body has at most {limit:,} bytes here")
        return message

    return count
