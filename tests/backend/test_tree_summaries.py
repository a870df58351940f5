"""Summaries by a language model, over real HTTP on loopback: asked once, cached, and gone with what they tell of."""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tree_stores import SMALL, add, make_backend, remove

from assay.backend.local.backend import LocalBackend
from assay.backend.local.tree import SUMMARIES
from assay.embed.chat import ChatModel, open_chat
from assay.errors import ConfigError


class ChatServer:
    """An OpenAI-compatible server that answers in the way named by `mode`, and keeps what it was sent."""

    def __init__(self) -> None:
        self.mode = "good"
        self.requests: list[tuple[dict[str, Any], str]] = []
        chat = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                chat.requests.append((body, self.headers.get("Authorization", "")))
                status, content = chat.reply(body)
                self.send_response(status)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def reply(self, body: dict[str, Any]) -> tuple[int, bytes]:
        if self.mode == "500":
            return 500, b"broken"
        if self.mode == "slow":
            time.sleep(1.0)
        if self.mode == "garbage":
            return 200, b"<html>"
        if self.mode == "shapeless":
            return 200, b'{"choices": []}'
        lines = body["messages"][0]["content"].count("\n- ")
        text = {"empty": " \n ", "endless": "x " * 5_000}.get(self.mode, f"Summary\nof {lines} sentences.")
        return 200, json.dumps({"choices": [{"message": {"content": text}}]}).encode()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def server() -> Iterator[ChatServer]:
    made = ChatServer()
    yield made
    made.close()


@pytest.fixture
def backend(tmp_path: Path) -> Iterator[LocalBackend]:
    made = make_backend(tmp_path / "kb")
    add(made, range(60))
    made.build_tree(SMALL)
    yield made
    made.close()


def chat(server: ChatServer) -> ChatModel:
    return ChatModel(server.url, "tiny", timeout=0.3, retries=1, backoff=0.01)


def test_nodes_are_summarised_once(backend: LocalBackend, server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_CHAT_KEY", "key-1")
    report = backend.write_summaries(chat(server))
    tree = backend.snapshot().tree()
    assert report.written == len(server.requests) > 5
    assert (report.cached, report.failed, report.trouble) == (0, 0, "")
    assert all(body["temperature"] == 0 and body["model"] == "tiny" for body, _ in server.requests)
    assert {key for _, key in server.requests} == {"Bearer key-1"}
    for node in range(tree.size):
        count = len(tree.payloads.sentences(node))
        assert tree.payload(node).text == f"Summary of {count} sentences."  # on one line
    again = backend.write_summaries(chat(server))
    assert (again.written, again.cached) == (0, report.written)
    assert len(server.requests) == report.written
    other = backend.write_summaries(ChatModel(server.url, "other", timeout=0.3))
    assert other.written == report.written  # another model's are its own


def test_a_summary_goes_with_its_sentences_and_survives_a_new_index(backend: LocalBackend, server: ChatServer) -> None:
    backend.write_summaries(chat(server))
    tree = backend.snapshot().tree()
    leaf = tree.size - 1
    row = tree.payloads.sentences(leaf)[0].row
    remove(backend, [row])
    changed = backend.snapshot().tree()
    assert changed.payload(leaf).text == ""
    assert changed.payload(leaf).summary
    touched = {node for node in range(tree.size) if row in {one.row for one in tree.payloads.sentences(node)}}
    for node in range(tree.size):
        assert (changed.payload(node).text == "") == (node in touched)
    asked = len(server.requests)
    backend.compact(force=True)
    rebuilt = backend.snapshot().tree()
    assert any(rebuilt.payload(node).text for node in range(rebuilt.size))
    assert len(server.requests) == asked  # an index is built without asking anybody


@pytest.mark.parametrize(
    ("mode", "trouble"),
    [
        ("500", "500"),
        ("slow", "timed out"),
        ("garbage", "not JSON"),
        ("shapeless", "without a message"),
        ("empty", "no summary"),
        ("endless", "no summary"),
    ],
)
def test_what_fails_keeps_its_extractive_summary(
    backend: LocalBackend, server: ChatServer, mode: str, trouble: str
) -> None:
    server.mode = mode
    report = backend.write_summaries(chat(server))
    assert report.written == 0
    assert report.failed > 5
    assert trouble in report.trouble
    payload = backend.snapshot().tree().payload(0)
    assert payload.text == ""
    assert payload.summary
    server.mode = "good"
    assert backend.write_summaries(chat(server)).written == report.failed


def test_a_server_that_is_not_there(backend: LocalBackend) -> None:
    report = backend.write_summaries(ChatModel("http://127.0.0.1:9/v1", "tiny", retries=0))
    assert report.written == 0
    assert report.trouble


def test_erasing_a_document_removes_what_a_model_wrote(backend: LocalBackend, server: ChatServer) -> None:
    backend.write_summaries(chat(server))
    file = backend.store.folder / SUMMARIES
    assert file.exists()
    remove(backend, [7])
    report = backend.erase(["d7"], "test")
    assert not file.exists()
    assert any("summaries" in line for line in report.erased)
    assert backend.snapshot().tree().payload(0).text == ""


@pytest.mark.parametrize("spec", ["", "http://host/v1", "#model", "ftp://host/v1#model", "https://user:pw@host/v1#m"])
def test_an_address_that_is_none(spec: str) -> None:
    with pytest.raises(ConfigError):
        open_chat(spec)
