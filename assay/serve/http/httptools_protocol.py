"""uvicorn's HTTP/1.1 protocol in C with limits on the time for headers and for reading an answer."""

from __future__ import annotations

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from assay.serve.http.connection_limits import ConnectionTimers


class LimitedHttptoolsProtocol(ConnectionTimers, HttpToolsProtocol):
    """The time for headers begins with the first byte of a request, and ends when they are complete."""

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._expect_headers()

    def on_headers_complete(self) -> None:
        self._cancel_timer("headers")
        super().on_headers_complete()
