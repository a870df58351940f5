"""Slow, silent, foreign and vanishing clients of an HTTP server: a real server on the loopback interface."""

import contextlib
import json
import socket
import threading
from contextlib import contextmanager

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from assay.serve.address import listen
from assay.serve.http import connection_limits
from assay.serve.http.connection_limits import DISCONNECT_HANDLERS, SameOriginMiddleware, make_server_config, read_body

HEAD = b"POST /echo HTTP/1.1\r\nHost: 127.0.0.1\r\n"
LARGE = 64 << 20


async def _echo(request):
    body = await read_body(request, 1000)
    return JSONResponse({"bytes": len(body)})


async def _large(_):
    return Response(b"x" * LARGE)


def _app() -> Starlette:
    return Starlette(
        routes=[Route("/echo", _echo, methods=["POST"]), Route("/large", _large)],
        middleware=[Middleware(SameOriginMiddleware)],
        exception_handlers=DISCONNECT_HANDLERS,
    )


@contextmanager
def _serving():
    with listen("127.0.0.1", 0) as listener:
        server = uvicorn.Server(make_server_config(_app()))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield listener.getsockname(), server
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(params=["httptools", "h11"])
def impatient(request, monkeypatch):
    """A server whose limits are a fraction of a second; clients wait without a limit for what it does."""
    if request.param == "h11":
        monkeypatch.setattr(connection_limits, "fastest_protocol", lambda: connection_limits.LimitedProtocol)
    for name in ("HEADER_SECONDS", "BODY_SECONDS", "WRITE_SECONDS"):
        monkeypatch.setattr(connection_limits, name, 0.3)
    monkeypatch.setattr(connection_limits, "IDLE_SECONDS", 1)
    with _serving() as served:
        yield served


def _read_all(client: socket.socket) -> bytes:
    """Everything until the server closes the connection."""
    received = bytearray()
    try:
        while block := client.recv(1 << 16):
            received += block
    except ConnectionResetError:
        pass
    return bytes(received)


def _wait(condition) -> None:
    while not condition():
        threading.Event().wait(0.02)


@pytest.mark.parametrize(
    "sent",
    [b"", b"POST", HEAD, HEAD + b"X-Long: " + b"a" * 1000],
    ids=["nothing", "half a method", "no end of headers", "half a header"],
)
def test_headers_that_never_end_close_the_connection(impatient, sent):
    with socket.create_connection(impatient[0]) as client:
        client.sendall(sent)
        assert _read_all(client) == b""


def test_headers_that_drip_do_not_prolong_their_time(impatient):
    with socket.create_connection(impatient[0]) as client:
        client.sendall(HEAD)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            while True:  # until the server hangs up in the middle
                client.sendall(b"X: y\r\n")
                threading.Event().wait(0.02)


def test_the_second_request_of_a_connection_has_the_same_limit(impatient):
    with socket.create_connection(impatient[0]) as client:
        client.sendall(HEAD + b"Content-Length: 2\r\n\r\n{}")
        answer = b""
        while not answer.endswith(b'{"bytes":2}'):
            answer += client.recv(4096)
        client.sendall(b"POST /ec")
        assert _read_all(client) == b""


def test_a_body_that_never_ends_is_answered_with_408(impatient):
    with socket.create_connection(impatient[0]) as client:
        client.sendall(HEAD + b"Content-Length: 100\r\n\r\n{")
        assert _read_all(client).startswith(b"HTTP/1.1 408 ")


def test_an_idle_connection_is_closed(impatient):
    with socket.create_connection(impatient[0]) as client:
        client.sendall(HEAD + b"Content-Length: 2\r\n\r\n{}")
        assert _read_all(client).endswith(b'{"bytes":2}')


def test_a_client_that_does_not_read_its_answer_is_sent_away(impatient):
    address, server = impatient
    with socket.create_connection(address) as client:
        client.sendall(b"GET /large HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        _wait(lambda: server.server_state.connections)
        _wait(lambda: not server.server_state.connections)
        assert len(_read_all(client)) < LARGE


def test_a_client_that_hangs_up_leaves_no_traceback(capfd):
    with _serving() as (address, server):
        for sent in (b"Content-Length: 100\r\n\r\nhalf", b"Transfer-Encoding: chunked\r\n\r\n5\r\nhal"):
            with socket.create_connection(address) as client:
                client.sendall(HEAD + sent)
                _wait(lambda: server.server_state.tasks)  # the request has begun
        _wait(lambda: not server.server_state.tasks)
    assert capfd.readouterr().err == ""


def _status(address, *headers: str, host: str = "") -> int:
    lines = ["POST /echo HTTP/1.1", f"Host: {host or f'127.0.0.1:{address[1]}'}", "Connection: close", *headers]
    with socket.create_connection(address) as client:
        client.sendall("\r\n".join([*lines, "Content-Length: 2", "", "{}"]).encode())
        answer = _read_all(client)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert json.loads(body)
    return int(head.split()[1])


def test_an_origin_must_be_the_host_that_is_asked():
    with _serving() as (address, _):
        port = address[1]
        assert _status(address) == 200  # no browser
        assert _status(address, f"Origin: http://127.0.0.1:{port}") == 200
        assert _status(address, f"Origin: HTTP://127.0.0.1:{port}") == 200
        for foreign in (
            "https://evil.example",
            "null",
            "",
            "http://127.0.0.1",  # another port, so another program's page
            f"http://127.0.0.1:{port}.evil.example",
            f"https://127.0.0.1:{port}",
        ):
            assert _status(address, f"Origin: {foreign}") == 403, foreign
        assert _status(address, f"Origin: http://127.0.0.1:{port}", "Origin: http://evil.example") == 403


@pytest.mark.parametrize("sent", [b"", b"x" * 1001], ids=["announced only", "whole"])
def test_a_body_that_is_too_long_is_413(sent):
    with _serving() as (address, _), socket.create_connection(address) as client:
        client.sendall(HEAD + b"Connection: close\r\nContent-Length: 1001\r\n\r\n" + sent)
        assert b" 413 " in _read_all(client)


@pytest.mark.parametrize("protocol", ["httptools", "h11"])
@pytest.mark.parametrize("header", [b"a" * 8_192, b"X: y\r\n" * 1_024], ids=["one header", "many headers"])
def test_headers_without_an_end_are_refused_at_a_length(monkeypatch, protocol, header):
    if protocol == "h11":
        monkeypatch.setattr(connection_limits, "fastest_protocol", lambda: connection_limits.LimitedProtocol)
    monkeypatch.setattr(connection_limits, "HEADER_SECONDS", 3_600.0)  # so that time is not what ends it
    with _serving() as (address, _), socket.create_connection(address) as client:
        client.sendall(HEAD + b"X-Long: ")
        sent, answer = 0, b""
        client.setblocking(False)
        try:
            while not answer:  # until the server answers, whatever is still sent
                with contextlib.suppress(BlockingIOError):
                    sent += client.send(header)
                with contextlib.suppress(BlockingIOError):
                    answer = client.recv(4_096)
            assert answer.startswith((b"HTTP/1.1 431 ", b"HTTP/1.1 400 "))
        except (ConnectionResetError, BrokenPipeError):  # it closed while more came in: its answer may be lost
            assert sent > connection_limits.HEADER_BYTES


def test_long_headers_and_a_long_body_at_once_are_no_endless_headers():
    with _serving() as (address, _), socket.create_connection(address) as client:
        long = b"X-Long: " + b"a" * 30_000 + b"\r\n"
        for _ in range(4):  # one connection: the count begins anew
            client.sendall(HEAD + long + b"Content-Length: 900\r\n\r\n" + b"x" * 900)
            answer = b""
            while not answer.endswith(b'{"bytes":900}'):
                answer += client.recv(4_096)
            assert answer.startswith(b"HTTP/1.1 200 ")
