"""Two transports: standard input and output for a host on this machine, streamable HTTP on the loopback interface.

On SIGTERM and SIGINT both wait for running calls and close the service.
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

from assay.serve.address import bracket_host, listen, parse_loopback
from assay.serve.shared_service import ServiceGroup, SharedService

PATH = "/mcp"


def serve_stdio(server: Server[Any], shared: SharedService[Any] | ServiceGroup) -> None:
    """Serve the one client on standard input and output until it disconnects or a signal comes."""
    anyio.run(_stdio, server, shared)


async def _stdio(server: Server[Any], shared: SharedService[Any] | ServiceGroup) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(_exit_on_signal, shared)
        async with stdio_server() as (read, write):
            group.start_soon(shared.warm)
            await server.run(read, write, server.create_initialization_options())
        group.cancel_scope.cancel()
    await shared.close()


async def _exit_on_signal(shared: SharedService[Any] | ServiceGroup) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            await shared.close()
            os._exit(0)  # a thread blocked on standard input cannot be woken; the service is closed


def serve_http(
    server: Server[Any], shared: SharedService[Any] | ServiceGroup, address: str, announce: Callable[[str], None]
) -> None:
    """Serve any number of clients on HOST:PORT; port 0 takes a free one. `announce` gets the URL."""
    host, port = parse_loopback(address)
    with listen(host, port) as listener:
        bound_port = listener.getsockname()[1]
        announce(f"http://{bracket_host(host)}:{bound_port}{PATH}")
        anyio.run(_http, server, shared, listener)


async def _http(server: Server[Any], shared: SharedService[Any] | ServiceGroup, listener: socket.socket) -> None:
    import uvicorn

    from assay.serve.http.connection_limits import make_server_config

    app = server.streamable_http_app(
        streamable_http_path=PATH, transport_security=security_settings(listener.getsockname()[1])
    )
    config = make_server_config(app)
    # uvicorn raises the signal again when it is done; the service is closed after that, so the process must survive it
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    async with anyio.create_task_group() as group:
        group.start_soon(shared.warm)
        await uvicorn.Server(config).serve(sockets=[listener])
    await shared.close()


def security_settings(port: int) -> TransportSecuritySettings:
    """Requests must name our own host and port as Host, and as Origin if they send one.

    This stops DNS rebinding: a web page whose name points to this machine sends its own name in both.
    """
    names = [f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}"]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True, allowed_hosts=names, allowed_origins=[f"http://{name}" for name in names]
    )
