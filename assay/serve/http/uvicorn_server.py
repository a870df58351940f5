"""Runs an app on a listening socket until a signal; requests that have begun are finished."""

from __future__ import annotations

import socket

import uvicorn
from starlette.types import ASGIApp

from assay.serve.http.connection_limits import make_server_config


def run_app(app: ASGIApp, listener: socket.socket, drain_seconds: int, connections: int) -> None:
    """Serve until SIGINT or SIGTERM; then accept nothing more and wait at most `drain_seconds` for open requests."""
    uvicorn.Server(make_server_config(app, drain_seconds, connections)).run(sockets=[listener])
