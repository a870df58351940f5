"""The HTTP embedder against a real server on the loopback interface that speaks the format, and misspeaks it."""

from __future__ import annotations

import json
import logging
import math
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from assay.embed.endpoint import Endpoint
from assay.embed.http import KEY_VARIABLE, HttpEmbedder, open_http
from assay.errors import ConfigError, MissingExtra, ModelError
from assay.protocols import Embedder

KEY = "sk-very-secret-123"
Reply = tuple[int, dict[str, str], bytes]
Rule = Callable[[dict[str, Any]], Reply]


def vector(text: str) -> list[float]:
    return [float(len(text)), 1.0, float(text.count("a"))]


def answer(request: dict[str, Any]) -> dict[str, Any]:
    rows = [{"object": "embedding", "index": n, "embedding": vector(text)} for n, text in enumerate(request["input"])]
    return {"object": "list", "data": rows, "model": request["model"]}


def ok(body: dict[str, Any]) -> Reply:
    return 200, {}, json.dumps(body).encode()


class Server:
    """Plays the `rules` one request at a time, then answers properly; keeps what it was sent."""

    def __init__(self) -> None:
        self.rules: list[Rule] = []
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with outer.lock:
                    outer.requests.append(request | {"path": self.path})
                    outer.headers.append(dict(self.headers))
                    rule = outer.rules.pop(0) if outer.rules else None
                status, headers, body = rule(request) if rule else ok(answer(request))
                if status == 0:  # hang up without a word
                    self.connection.shutdown(socket.SHUT_RDWR)
                    self.close_connection = True
                    return
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.handle_error = lambda *_: None  # type: ignore[method-assign]
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    threading.Thread(target=server.http.serve_forever, args=(0.01,), daemon=True).start()
    yield server
    server.http.shutdown()
    server.http.server_close()


@pytest.fixture
def embedder(server: Server) -> HttpEmbedder:
    endpoint = Endpoint(f"{server.url}/embeddings", KEY_VARIABLE, timeout=5.0, retries=2, backoff=0.01)
    return HttpEmbedder(endpoint, "tiny", dimensions=3)


def unit(row: list[float]) -> np.ndarray:
    return (np.array(row) / math.hypot(*row)).astype(np.float32)


def test_vectors_come_back_normalised_and_in_order(server: Server, embedder: HttpEmbedder) -> None:
    texts = ["a" * n for n in range(1, 150)]
    found = replace(embedder, batch=7).encode(texts)
    assert isinstance(embedder, Embedder)
    assert np.array_equal(found, np.stack([unit(vector(text)) for text in texts]))
    assert sorted(len(request["input"]) for request in server.requests) == [2] + [7] * 21
    assert server.requests[0]["path"] == "/v1/embeddings"
    assert {request["model"] for request in server.requests} == {"tiny"}
    assert np.array_equal(embedder.encode(texts), found)  # another batch size, the same vectors


def test_the_dimension_is_asked_for_once_when_not_given(server: Server) -> None:
    embedder = open_http(server.url + "/", "tiny")
    assert embedder.encode([]).shape == (0, 3)
    assert embedder.dim == 3
    assert len(server.requests) == 1
    assert "dimensions" not in server.requests[0]


def test_dimensions_prefixes_and_strange_texts_travel(server: Server, embedder: HttpEmbedder) -> None:
    prefixed = replace(embedder, query_prefix="q: ", document_prefix="")
    prefixed.encode(["", "\ud800", "\0é🙂"])
    prefixed.encode_query("x")
    assert server.requests[0]["input"] == [" ", "?", "\0é🙂"]
    assert server.requests[0]["dimensions"] == 3
    assert server.requests[1]["input"] == ["q: x"]


def test_shuffled_answers_are_put_in_order(server: Server, embedder: HttpEmbedder) -> None:
    def shuffled(request: dict[str, Any]) -> Reply:
        body = answer(request)
        return ok(body | {"data": body["data"][::-1]})

    server.rules = [shuffled]
    assert np.array_equal(embedder.encode(["a", "bbb"]), [unit([1, 1, 1]), unit([3, 1, 0])])


def test_answers_without_indices_stand_in_the_order_sent(server: Server, embedder: HttpEmbedder) -> None:
    server.rules = [lambda request: ok({"data": [{"embedding": vector(text)} for text in request["input"]]})]
    assert np.array_equal(embedder.encode(["a", "bbb"]), [unit([1, 1, 1]), unit([3, 1, 0])])


def reply(status: int, body: bytes = b"busy", **headers: str) -> Rule:
    return lambda _: (status, {name.replace("_", "-"): value for name, value in headers.items()}, body)


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504, 408, 0])
def test_passing_trouble_is_tried_again(server: Server, embedder: HttpEmbedder, status: int) -> None:
    server.rules = [reply(status), reply(status)]
    assert np.array_equal(embedder.encode(["a"]), [unit([1, 1, 1])])
    assert len(server.requests) == 3


def test_tries_are_bounded(server: Server, embedder: HttpEmbedder) -> None:
    server.rules = [reply(503)] * 9
    with pytest.raises(ModelError, match="failed 3 times; at last: 503 busy") as caught:
        embedder.encode(["a"])
    assert len(server.requests) == 3
    assert caught.value.cure


def test_the_waits_double_and_obey_retry_after(
    server: Server, embedder: HttpEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(time, "sleep", waits.append)
    endpoint = replace(embedder.endpoint, retries=5, backoff=0.5, longest_wait=30)
    server.rules = [
        reply(500),
        reply(500),
        reply(429, Retry_After="7"),
        reply(429, Retry_After="9999"),
        reply(429, Retry_After="Wed, 21 Oct 2026 07:28:00 GMT"),
    ]
    replace(embedder, endpoint=endpoint).encode(["a"])
    assert waits == [0.5, 1.0, 7.0, 30.0, 8.0]


@pytest.mark.parametrize(
    ("status", "cure"),
    [(400, "model's name"), (401, KEY_VARIABLE), (403, KEY_VARIABLE), (404, "/v1"), (413, "smaller"), (307, "address")],
)
def test_refusals_are_not_repeated_and_name_a_cure(
    server: Server, embedder: HttpEmbedder, status: int, cure: str
) -> None:
    server.rules = [reply(status, b'{"error": "no"}')]
    with pytest.raises(ModelError, match=str(status)) as caught:
        embedder.encode(["a"])
    assert cure in caught.value.cure
    assert len(server.requests) == 1


def rows(*vectors: object) -> Rule:
    return lambda _: ok({"data": [{"index": n, "embedding": row} for n, row in enumerate(vectors)]})


NONSENSE: dict[str, tuple[Rule, str]] = {
    "truncated": (lambda request: (200, {}, json.dumps(answer(request)).encode()[:-9]), "not JSON"),
    "html": (reply(200, b"<html>hello</html>"), "not JSON"),
    "not utf-8": (reply(200, b"\xff\xfe\x00"), "not JSON"),
    "a list": (reply(200, b"[]"), "no list of vectors"),
    "no data": (reply(200, b"{}"), "no list of vectors"),
    "data of strings": (reply(200, b'{"data": ["a", "b"]}'), "no list of vectors"),
    "too few": (rows([1, 2, 3]), "1 vectors whose indices"),
    "too many": (rows([1, 2, 3], [1, 2, 3], [1, 2, 3]), "3 vectors whose indices"),
    "an index twice": (
        reply(200, b'{"data": [{"index": 0, "embedding": [1,2,3]}, {"index": 0, "embedding": [1,2,3]}]}'),
        "indices",
    ),
    "an index that is a list": (
        reply(200, b'{"data": [{"index": [0], "embedding": [1,2,3]}, {"index": 1, "embedding": [1,2,3]}]}'),
        "indices",
    ),
    "wrong dimension": (rows([1, 2, 3], [1, 2]), "a vector of 2 numbers, where 3 were expected"),
    "NaN": (rows([1, 2, 3], [1, float("nan"), 3]), "zero or not finite"),
    "infinity": (rows([1, 2, 3], [1, float("inf"), 3]), "zero or not finite"),
    "zero": (rows([1, 2, 3], [0, 0, 0]), "zero or not finite"),
    "base64": (rows([1, 2, 3], "AACAPwAAAEA="), "not a list of numbers"),
    "null": (rows([1, 2, 3], None), "not a list of numbers"),
    "words": (rows([1, 2, 3], ["one", "two", "three"]), "not numbers"),
    "nested": (rows([1, 2, 3], [[1], [2], [3]]), "not numbers"),
    "beyond every float": (rows([1, 2, 3], [10**400, 1, 1]), "not numbers"),
}


@pytest.mark.parametrize("name", NONSENSE)
def test_nonsense_is_an_error_and_never_a_vector(server: Server, embedder: HttpEmbedder, name: str) -> None:
    rule, trouble = NONSENSE[name]
    server.rules = [rule]
    with pytest.raises(ModelError, match=trouble) as caught:
        embedder.encode(["a", "b"])
    assert caught.value.cure


def test_a_body_cut_short_is_a_connection_error_and_tried_again(server: Server, embedder: HttpEmbedder) -> None:
    server.rules = [lambda _: (200, {"Content-Length": "9999", "Connection": "close"}, b'{"data": [')]
    server.http.RequestHandlerClass.timeout = 0.2  # type: ignore[attr-defined]
    assert np.array_equal(embedder.encode(["a"]), [unit([1, 1, 1])])


def test_a_slow_server_runs_into_the_timeout(server: Server, embedder: HttpEmbedder) -> None:
    released = threading.Event()

    def slow(request: dict[str, Any]) -> Reply:
        released.wait(20)
        return ok(answer(request))

    server.rules = [slow, slow]
    hurried = replace(embedder, endpoint=replace(embedder.endpoint, timeout=0.1, retries=1))
    with pytest.raises(ModelError, match=r"failed 2 times; at last: .*timed out"):
        hurried.encode(["a"])
    released.set()


def test_nobody_at_the_address(embedder: HttpEmbedder, server: Server) -> None:
    server.http.server_close()
    nobody = Endpoint("http://127.0.0.1:9/v1/embeddings", KEY_VARIABLE, retries=1, backoff=0.01)
    with pytest.raises(ModelError, match="failed 2 times") as caught:
        replace(embedder, endpoint=nobody).encode(["a"])
    assert "address" in caught.value.cure


def test_the_key_is_sent_and_shown_nowhere(
    server: Server, embedder: HttpEmbedder, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    before = (repr(embedder), embedder.digest)
    monkeypatch.setenv(KEY_VARIABLE, KEY + "\n")
    caplog.set_level(logging.DEBUG)
    embedder.encode(["a"])
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    server.rules = [reply(401, f"Incorrect API key provided: {KEY}.".encode())]
    with pytest.raises(ModelError) as caught:
        embedder.encode(["a"])
    assert "(key)" in str(caught.value)
    assert (repr(embedder), embedder.digest) == before
    for text in (str(caught.value), repr(caught.value), repr(embedder), caplog.text, repr(vars(embedder.endpoint))):
        assert KEY not in text


def test_without_a_key_no_authorization_is_sent(
    server: Server, embedder: HttpEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    embedder.encode(["a"])
    assert "Authorization" not in server.headers[0]


@pytest.mark.parametrize("key", ["two words", "é", "a\nb"])
def test_a_key_that_no_header_can_carry_is_refused_unseen(
    embedder: HttpEmbedder, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, key)
    with pytest.raises(ConfigError, match=KEY_VARIABLE) as caught:
        embedder.encode(["a"])
    assert key not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["ftp://host/v1", "host/v1", "https://", "https://user:pass@host/v1", "https://host/v1?key=secret"]
)
def test_addresses_that_are_refused(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        open_http(url, "m")
    assert "pass@" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_the_digest_follows_address_model_dimension_and_prefixes(embedder: HttpEmbedder) -> None:
    others = [
        replace(embedder, model="other"),
        replace(embedder, dimensions=2),
        replace(embedder, query_prefix="q"),
        replace(embedder, endpoint=replace(embedder.endpoint, url="https://host/v1/embeddings")),
    ]
    assert len({embedder.digest, *(other.digest for other in others)}) == 5
    assert replace(embedder, batch=1, workers=9).digest == embedder.digest


def test_without_httpx_the_extra_is_named(embedder: HttpEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(MissingExtra, match=r"pip install -e .\.\[http\]"):
        embedder.encode(["a"])
