"""HTTP is for this machine: other addresses are refused, and so are requests that say another name."""

import socket

import pytest

from assay.errors import ConfigError
from assay.serve.address import listen, parse_loopback
from assay.serve.mcp.transports import security_settings, serve_http


@pytest.mark.parametrize(
    ("address", "taken"),
    [
        ("127.0.0.1:8765", ("127.0.0.1", 8765)),
        ("localhost:8765", ("127.0.0.1", 8765)),
        ("8765", ("127.0.0.1", 8765)),
        (":0", ("127.0.0.1", 0)),
        ("127.8.9.10:1", ("127.8.9.10", 1)),
        ("[::1]:8765", ("::1", 8765)),
    ],
)
def test_addresses_of_this_machine(address, taken):
    assert parse_loopback(address) == taken


@pytest.mark.parametrize(
    "address",
    ["0.0.0.0:80", "[::]:80", "192.168.1.5:80", "example.org:80", "127.0.0.1.evil.org:80", "localhost.evil:1"],
)
def test_no_other_address_is_served(address):
    with pytest.raises(ConfigError, match="not an address of this machine alone"):
        parse_loopback(address)


@pytest.mark.parametrize(
    "address", ["", "localhost", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:-1", "127.0.0.1:65536", "1:²"]
)
def test_a_port_is_a_number(address):
    with pytest.raises(ConfigError, match="names no port"):
        parse_loopback(address)


def test_a_taken_port_is_said_with_its_cure():
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        with pytest.raises(ConfigError, match=f"cannot listen on 127.0.0.1:{port}"):
            serve_http(None, None, f"127.0.0.1:{port}", lambda _: None)  # type: ignore[arg-type]


def test_the_guard_names_us_and_our_port_only():
    guard = security_settings(8765)
    assert guard.enable_dns_rebinding_protection
    assert guard.allowed_hosts == ["127.0.0.1:8765", "localhost:8765", "[::1]:8765"]
    assert guard.allowed_origins == ["http://127.0.0.1:8765", "http://localhost:8765", "http://[::1]:8765"]


def test_accepted_connections_send_at_once():
    """asyncio sets TCP_NODELAY only where the socket names its protocol; without, answers wait 40 ms."""
    with listen("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP
