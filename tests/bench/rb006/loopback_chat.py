"""A chat server on the loopback device, for everything that asks a language model."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from assay.embed.chat import ChatModel

Answer = Callable[[str], str | int]


class LoopbackChat:
    """A chat server whose answer is a function of the prompt; a number is an HTTP status."""

    def __init__(self, answer: Answer) -> None:
        self.answer, self.prompts = answer, []
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                assert body["temperature"] == 0
                prompt = body["messages"][0]["content"]
                owner.prompts.append(prompt)
                said = owner.answer(prompt)
                status = said if isinstance(said, int) else 200
                content = {"choices": [{"message": {"content": said}}]}
                data = json.dumps(content if status == 200 else {"error": "no"}).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                """Quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def chat(self) -> ChatModel:
        return ChatModel(f"http://127.0.0.1:{self.server.server_port}/v1", "judge", retries=0, backoff=0.0)
