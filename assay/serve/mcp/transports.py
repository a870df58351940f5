"""The two ways in: standard input and output for a host on this machine, streamable HTTP on the loopback interface.

Both end on SIGTERM and SIGINT after the calls that run have ended, with the service closed.
"""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable
from typing import Any

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings

from assay.serve.address import bound, bracketed, loopback
from assay.serve.shared_service import SharedService

PATH = "/mcp"
GRACE = 2
"""Seconds that open HTTP connections have to end after a signal."""


def serve_stdio(server: Server[Any], desk: SharedService[Any]) -> None:
    """Serve the one client at the other end of standard input and output, until it goes or a signal comes."""
    anyio.run(_stdio, server, desk)


async def _stdio(server: Server[Any], desk: SharedService[Any]) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(_leave_on_signal, desk)
        async with stdio_server() as (read, write):
            group.start_soon(desk.warm)
            await server.run(read, write, server.create_initialization_options())
        group.cancel_scope.cancel()
    await desk.close()


async def _leave_on_signal(desk: SharedService[Any]) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            await desk.close()
            os._exit(0)  # a thread that waits for standard input cannot be woken; all that matters is done


def serve_http(server: Server[Any], desk: SharedService[Any], address: str, announce: Callable[[str], None]) -> None:
    """Serve any number of clients on HOST:PORT; port 0 takes a free one. `announce` is told the address to use."""
    host, port = loopback(address)
    with bound(host, port) as listening:
        taken = listening.getsockname()[1]
        announce(f"http://{bracketed(host)}:{taken}{PATH}")
        anyio.run(_http, server, desk, listening)


async def _http(server: Server[Any], desk: SharedService[Any], listening: socket.socket) -> None:
    import uvicorn

    app = server.streamable_http_app(streamable_http_path=PATH, transport_security=security(listening.getsockname()[1]))
    config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=GRACE)
    # uvicorn raises the signal again when it is done; the service is closed after that, so it must not end us
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    async with anyio.create_task_group() as group:
        group.start_soon(desk.warm)
        await uvicorn.Server(config).serve(sockets=[listening])
    await desk.close()


def security(port: int) -> TransportSecuritySettings:
    """What a request must say of itself: our own names with our own port as Host, and as Origin where it has one.

    A page in a browser that made its own name point to this machine (DNS rebinding) says another name in both.
    """
    names = [f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}"]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True, allowed_hosts=names, allowed_origins=[f"http://{name}" for name in names]
    )
