"""Asks a QMD collection through its server: `qmd mcp --http` keeps the models loaded between queries."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import urlsplit

from assay.engine.foreign_chunks import SourceResult
from assay.errors import ConfigError, StoreError
from assay.protocols import Snapshot
from assay.sources.listing import build_result, reject_filters
from assay.sources.qmd_rows import Doc, Id, Mode, one_line, parse_hits
from assay.types import Query, Range, Ranking
from assay.util.permissions import Effect, host_effect, require

MOST_BYTES = 8_000_000
SEARCHES = {"search": ("lex",), "vsearch": ("vec",), "query": ("lex", "vec")}
CONNECT_S = 5.0
TIMEOUT_S = 120.0
"""For the whole request, where no cap is given: the first query loads three models."""


@dataclass(frozen=True, slots=True)
class QmdHttp:
    """`POST <url>/query {"searches": [{"type", "query"}], "limit", "collections"}` of QMD's own server.

    Modes as on the command line: "search" sends a `lex` search, "vsearch" a `vec` one, "query" both. Finds, scores and
    order as with `qmd`. Past its cap the connection is closed. The server is asked only if the user allows its host
    (`assay allow host:localhost`).
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    is_source: ClassVar[bool] = True

    collection: str = ""
    mode: Mode = "query"
    url: str = "http://localhost:8181"
    id: Id = "file"
    doc: Doc = "file"

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            good = parts.scheme in ("http", "https") and parts.hostname is not None and (parts.port or 1) > 0
            if parts.password:
                raise ConfigError("qmd_http.url holds a password, and pipelines are printed", "QMD asks for none")
        except ValueError:
            good = False
        if not good:
            raise ConfigError(f"qmd_http.url = {self.url!r} is no address", 'url = "http://localhost:8181"')

    def effects(self) -> tuple[Effect, ...]:
        return (host_effect(self.url),)

    def gives(self) -> Range:
        return Range("unit", 0.0, 1.0)

    def find(self, query: Query, snapshot: Snapshot, k: int, seeds: Ranking | None = None) -> SourceResult:
        return self.begin(query, snapshot, k).result()

    def begin(self, query: Query, snapshot: Snapshot, k: int) -> QmdRequest:
        return QmdRequest(self, query, k)

    def body(self, text: str, k: int) -> dict[str, Any]:
        searches = [{"type": kind, "query": text} for kind in SEARCHES[self.mode]]
        return {"searches": searches, "limit": k, **({"collections": [self.collection]} if self.collection else {})}


class QmdRequest:
    """One request, which is cancelled by closing its connection."""

    def __init__(self, source: QmdHttp, query: Query, k: int) -> None:
        self._source, self._query, self._k = source, query, k
        self._socket: socket.socket | None = None
        self._cancelled = False
        self._lock = threading.Lock()

    def result(self) -> SourceResult:
        reject_filters("QMD", self._query)
        text = one_line(self._query.text).strip()
        if not text:
            return build_result("qmd", [], "unit", self._k)
        require(*self._source.effects())
        status, answer = self._post(json.dumps(self._source.body(text, self._k)).encode())
        if status != http.client.OK:
            message_text = " ".join(answer[:200].decode("utf-8", "replace").split())
            raise StoreError(f"QMD at {self._source.url} answered {status} {message_text}".rstrip(), "look at its log")
        try:
            payload = json.loads(answer)
        except (ValueError, RecursionError):
            raise StoreError(f"QMD at {self._source.url} answered with no JSON", "check the address") from None
        rows = payload.get("results") if isinstance(payload, dict) else None
        return build_result("qmd", parse_hits(rows, self._source), "unit", self._k)

    def _post(self, body: bytes) -> tuple[int, bytes]:
        parts = urlsplit(self._source.url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=CONNECT_S)
        watch = threading.Timer(TIMEOUT_S, self.cancel)
        try:
            watch.start()
            connection.connect()
            with self._lock:
                if self._cancelled:
                    raise StoreError("the request was cancelled before it began")
                self._socket = connection.sock
                self._socket.settimeout(TIMEOUT_S)
            headers = {"Content-Type": "application/json", "Connection": "close"}
            connection.request("POST", f"{parts.path.rstrip('/')}/query", body, headers)
            response = connection.getresponse()
            answer = response.read(MOST_BYTES + 1)
        except (OSError, http.client.HTTPException, ValueError) as error:  # ValueError: a name no address can have
            self._refuse_when_cancelled()  # a connection that we closed ends in one error or another, or in none
            message_text = str(error) or type(error).__name__
            raise StoreError(
                f"QMD at {self._source.url} does not answer: {message_text}", "start it: qmd mcp --http"
            ) from None
        finally:
            watch.cancel()
            with self._lock:
                self._socket = None
            connection.close()
        self._refuse_when_cancelled()
        if len(answer) > MOST_BYTES:
            raise StoreError(f"QMD answered with more than {MOST_BYTES:,} bytes", "ask for fewer results")
        return response.status, answer

    def _refuse_when_cancelled(self) -> None:
        if self._cancelled:
            message = f"QMD at {self._source.url} took too long, and was hung up on"
            raise StoreError(message, "look at its log") from None

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
            if self._socket is not None:
                with contextlib.suppress(OSError):
                    self._socket.shutdown(socket.SHUT_RDWR)
