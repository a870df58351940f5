"""A real HTTP server on the loopback interface that speaks every provider's format, strictly, and misspeaks on demand.

The formats are written here a second time, from the providers' own documentation: the table under test is not asked.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-very-secret-123"
Entries = list[tuple[int, float]]
Reply = tuple[int, dict[str, str], bytes]
Rule = Callable[[str, dict[str, Any]], Reply]


@dataclass(frozen=True)
class Format:
    """What a provider's documentation says: the fields of a request, who holds the texts, the shape of an answer."""

    required: frozenset[str]
    texts: Callable[[dict[str, Any]], list[str]]
    answer: Callable[[Entries], Any]
    key: tuple[str, str] = ("Authorization", f"Bearer {KEY}")
    max_texts: int = 1000


def relevance(entries: Entries) -> list[dict[str, Any]]:
    return [{"index": index, "relevance_score": score} for index, score in entries]


def plain(entries: Entries) -> list[dict[str, Any]]:
    return [{"index": index, "score": score} for index, score in entries]


JINA = Format(
    frozenset({"model", "query", "documents", "top_n"}),
    lambda request: request["documents"],
    lambda entries: {"model": "m", "usage": {"total_tokens": 15}, "results": relevance(entries)},
)
FORMATS = {
    "jina": JINA,
    "siliconflow": JINA,
    "jina_shaped": Format(frozenset({"query", "documents"}), JINA.texts, JINA.answer),
    "cohere": Format(
        frozenset({"model", "query", "documents"}),
        lambda request: request["documents"],
        lambda entries: {"id": "x", "results": relevance(entries), "meta": {"api_version": {"version": "2"}}},
    ),
    "voyage": Format(
        frozenset({"model", "query", "documents", "top_k"}),
        lambda request: request["documents"],
        lambda entries: {"object": "list", "data": relevance(entries), "model": "rerank-2.5"},
    ),
    "pinecone": Format(
        frozenset({"model", "query", "documents", "top_n"}),
        lambda request: [document["text"] for document in request["documents"]],
        lambda entries: {"model": "m", "data": plain(entries), "usage": {"rerank_units": 1}},
        key=("Api-Key", KEY),
    ),
    "dashscope": Format(
        frozenset({"model", "input", "parameters"}),
        lambda request: request["input"]["documents"],
        lambda entries: {"output": {"results": relevance(entries)}, "usage": {"total_tokens": 79}, "request_id": "r"},
    ),
    "tei": Format(frozenset({"query", "texts"}), lambda request: request["texts"], plain, max_texts=32),
}


class Server:
    """Plays the `rules` one request at a time, then answers properly: `scores` says what it thinks of each text.

    The address `url(provider)` chooses the format. What it was sent is kept.
    """

    def __init__(self) -> None:
        self.scores: dict[str, float] = {}
        self.rules: list[Rule] = []
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.lock = threading.Lock()
        self.closing = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # or every answer waits 40 ms for an acknowledgement

            def do_POST(self) -> None:
                outer.serve(self)

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.http.handle_error = lambda *_: None  # type: ignore[method-assign]
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    def url(self, provider: str) -> str:
        return f"http://127.0.0.1:{self.http.server_port}/{provider}"

    def close(self) -> None:
        self.closing.set()
        self.http.shutdown()
        self.http.server_close()

    def serve(self, handler: BaseHTTPRequestHandler) -> None:
        request = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        provider = handler.path.strip("/")
        with self.lock:
            self.requests.append(request)
            self.headers.append(dict(handler.headers))
            rule = self.rules.pop(0) if self.rules else self.proper
        status, headers, body = rule(provider, request)
        if status == 0:  # hang up without a word
            handler.connection.shutdown(socket.SHUT_RDWR)
            handler.close_connection = True
            return
        handler.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        if "Slowly" not in headers:
            handler.wfile.write(body)
            return
        for byte in body:
            if self.closing.is_set():
                return
            handler.wfile.write(bytes([byte]))
            time.sleep(float(headers["Slowly"]))

    def proper(self, provider: str, request: dict[str, Any]) -> Reply:
        """The answer that the documentation promises, best first; 422 for a request that does not fit it."""
        spoken = FORMATS[provider]
        missing = spoken.required - request.keys()
        if missing:
            return 422, {}, f"missing {sorted(missing)}".encode()
        texts = spoken.texts(request)
        if len(texts) > spoken.max_texts:
            return 422, {}, f"batch size {len(texts)} > maximum allowed batch size {spoken.max_texts}".encode()
        entries = [(index, self.scores.get(text, 0.0)) for index, text in enumerate(texts)]
        return ok(spoken.answer(sorted(entries, key=lambda entry: -entry[1])))


def ok(body: Any) -> Reply:
    return 200, {}, json.dumps(body).encode()


def reply(status: int, body: bytes = b"busy", **headers: str) -> Rule:
    return lambda *_: (status, {name.replace("_", "-"): value for name, value in headers.items()}, body)


def results(*entries: tuple[Any, Any]) -> Rule:
    """These entries, whatever was asked, in the format of the address."""
    return lambda provider, _: ok(FORMATS[provider].answer(list(entries)))
