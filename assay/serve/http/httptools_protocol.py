"""uvicorn's HTTP/1.1 protocol in C with limits on the time for headers and their length, and on the time for reading an
answer."""

from __future__ import annotations

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from assay.serve.http.connection_limits import HEADER_BYTES, ConnectionTimers

_TOO_LONG = b"HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class LimitedHttptoolsProtocol(ConnectionTimers, HttpToolsProtocol):
    """The time for headers begins with the first byte of a request, and ends when they are complete."""

    _header_bytes = 0

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if "headers" not in self._timers or self.transport.is_closing():
            return
        self._header_bytes += len(
            data
        )  # the parser in C joins the parts of a header in a time that grows quadratically
        if self._header_bytes > HEADER_BYTES:
            self.transport.write(_TOO_LONG)
            self.transport.close()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._expect_headers()

    def on_headers_complete(self) -> None:
        self._header_bytes = 0
        self._cancel_timer("headers")
        super().on_headers_complete()
