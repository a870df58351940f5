"""Addresses of servers, and listening sockets that are bound before their address is announced."""

from __future__ import annotations

import ipaddress
import socket

from assay.errors import ConfigError


def parse_address(address: str) -> tuple[str, int, bool]:
    """Split HOST:PORT, PORT or :PORT, and say whether only this machine reaches it. A host is an IP address."""
    host, _, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or "127.0.0.1"
    host = "127.0.0.1" if host == "localhost" else host
    if not (port.isascii() and port.isdigit() and int(port) < 65536):
        raise ConfigError(f"{address!r} names no port", "write HOST:PORT, e.g. 127.0.0.1:8765; 0 takes a free one")
    try:
        return host, int(port), ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host, int(port), False


def parse_loopback(address: str) -> tuple[str, int]:
    """Split an address; only loopback addresses, because the server does not authenticate."""
    host, port, is_loopback = parse_address(address)
    if not is_loopback:
        raise ConfigError(
            f"{host!r} is not an address of this machine alone",
            "serve on 127.0.0.1, and let a proxy that asks for credentials stand between it and a network",
        )
    return host, port


def listen(host: str, port: int) -> socket.socket:
    """A listener socket; port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With its protocol named, asyncio sets TCP_NODELAY on accepted connections; without, an answer that is sent in two
    # parts waits 40 ms for the client's delayed acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen()  # clients may connect as soon as the address is announced
    except OSError as error:
        listener.close()
        raise ConfigError(
            f"cannot listen on {bracket_host(host)}:{port}: {error.strerror}", "take another port; 0 takes a free one"
        ) from error
    return listener


def bracket_host(host: str) -> str:
    """A host as it is written in a URL."""
    return f"[{host}]" if ":" in host else host
