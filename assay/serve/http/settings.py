"""What a server is started with: its limits and what it lets clients reach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import ConfigError
from assay.serve.keys import KeyStore

LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "[::1]", "::1")


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """`workers` requests run and `waiting` wait; `per_minute` is the limit of one key or address, None for no limit.

    `hosts` are the names a request may call this server by, without ports; `origins` are pages of other sites that may
    read its answers (CORS). `pipelines` is a folder of TOML files that requests may name, `receipts` one of receipts,
    `judgements` one for the grades that people give in the workbench.
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
    judgements: Path | None = None
    workbench: Path | None = None
    keys_required: bool = False
    drain_seconds: int = 30
    connections: int = 1_024


def make_settings(
    is_loopback: bool, keys: KeyStore, require_keys: bool, hosts: Sequence[str], **limits: Any
) -> ServerSettings:
    """The settings of a server by where it listens: beyond this machine keys are required, and there must be one.

    Without required keys a request must call the server by a name of this machine; with them any name will do unless
    some are given, because a page that points its own name here has no key.
    """
    required = require_keys or not is_loopback
    if required and not any(key.revoked is None for key in keys.list()):
        raise ConfigError(
            "this server needs keys, and there is none"
            + ("" if is_loopback else ": it is reached from other machines"),
            "make one: assay key create NAME; or serve this machine alone: --address 127.0.0.1:8080",
        )
    names = (*LOOPBACK_HOSTS, *(name.lower() for name in hosts)) if hosts or not required else ("*",)
    return ServerSettings(hosts=names, keys_required=required, **limits)
