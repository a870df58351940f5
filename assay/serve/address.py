"""Where we listen: an address of this machine alone, taken before anybody is told."""

from __future__ import annotations

import ipaddress
import socket

from assay.errors import ConfigError


def loopback(address: str) -> tuple[str, int]:
    """HOST:PORT, PORT or :PORT, taken apart; only this machine's own addresses, for nothing here asks who is there."""
    host, _, said = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or "127.0.0.1"
    host = "127.0.0.1" if host == "localhost" else host
    if not (said.isascii() and said.isdigit() and int(said) < 65536):
        raise ConfigError(f"{address!r} names no port", "write HOST:PORT, e.g. 127.0.0.1:8765; 0 takes a free one")
    try:
        own = ipaddress.ip_address(host).is_loopback
    except ValueError:
        own = False
    if not own:
        raise ConfigError(
            f"{host!r} is not an address of this machine alone",
            "serve on 127.0.0.1, and let a proxy that asks for credentials stand between it and a network",
        )
    return host, int(said)


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens there; port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen()  # who is told the address may come at once, and waits
    except OSError as error:
        listening.close()
        raise ConfigError(
            f"cannot listen on {bracketed(host)}:{port}: {error.strerror}", "take another port; 0 takes a free one"
        ) from error
    return listening


def bracketed(host: str) -> str:
    """A host as it stands in an address."""
    return f"[{host}]" if ":" in host else host
