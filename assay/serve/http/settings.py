"""What a server is started with: its limits and what it lets clients reach."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "[::1]", "::1")


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """`workers` requests run and `waiting` wait; `per_minute` is the limit of one key or address, None for no limit.

    `hosts` are the names a request may call this server by, without ports; `origins` are pages of other sites that may
    read its answers (CORS). `pipelines` is a folder of TOML files that requests may name, `receipts` one of receipts.
    """

    workers: int = 4
    waiting: int = 64
    body_bytes: int = 4 * 1024 * 1024
    upload_bytes: int = 256 * 1024 * 1024
    per_minute: int | None = None
    hosts: tuple[str, ...] = LOOPBACK_HOSTS
    origins: tuple[str, ...] = ()
    pipelines: Path | None = None
    receipts: Path | None = None
    workbench: Path | None = None
    keys_required: bool = False
    drain_seconds: int = 30
    connections: int = 1_024
