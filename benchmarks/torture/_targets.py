"""Parsers under coverage-guided search. A target takes bytes; it returns, or refuses with an AssayError."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

import assay
from assay import replay as recordings
from assay import where
from assay.bench import receipt as receipts
from assay.cascade.bank.bank import open_bank
from assay.config import load as config
from assay.errors import QueryError
from assay.ingest.chunk_worker import ChunkSetup, FileTask, chunk_files
from assay.ingest.chunker import PROFILES
from assay.memory import service
from assay.serve.http.app import make_server_app
from assay.serve.http.context import ServerContext
from assay.serve.http.settings import ServerSettings
from assay.serve.mcp.scopes import ScopeLimits
from assay.serve.mcp.server import run_tool
from assay.serve.mcp.tools import DOCUMENT_TOOLS, TOOLS
from assay.serve.shared_service import SharedService
from assay.store.rows import encode_row
from benchmarks.torture._seeds import FILES, FILTERS, RECORDING, make_bank, read_presets, read_receipt_seed

Parser = Callable[[bytes], None]


@dataclass(frozen=True)
class Target:
    """A parser and well-formed input of it. `start` opens what it needs in a folder."""

    start: Callable[[Path], AbstractContextManager[Parser]]
    seeds: Callable[[], list[bytes]]


_SUFFIXES = tuple(sorted(FILES))


def _file_seeds() -> list[bytes]:
    """The first byte says which reader takes the rest."""
    return [bytes([number]) + FILES[suffix]() for number, suffix in enumerate(_SUFFIXES)]


@contextlib.contextmanager
def _files(folder: Path) -> Iterator[Parser]:
    """Readers and chunker, in this process."""
    setup = ChunkSetup(PROFILES["default"], encode_row)

    def parse(data: bytes) -> None:
        suffix = _SUFFIXES[(data[0] if data else 0) % len(_SUFFIXES)]
        path = folder / f"hostile{suffix}"
        path.write_bytes(data[1:])
        for _ in chunk_files([FileTask(path, "hostile", "")], setup):
            pass

    yield parse


@contextlib.contextmanager
def _filters(_: Path) -> Iterator[Parser]:
    def parse(data: bytes) -> None:
        found = where.parse(data.decode("utf-8", "replace"))
        if where.parse(str(found)) != found:
            raise ValueError("a filter is printed as another one")

    yield parse


@contextlib.contextmanager
def _configs(_: Path) -> Iterator[Parser]:
    def parse(data: bytes) -> None:
        spec = config.to_dict(config.loads(data.decode("utf-8", "replace")))
        if config.to_dict(config.from_dict(spec)) != spec:
            raise ValueError("a pipeline is written as another one")

    yield parse


def _file_parser(name: str, read: Callable[[Path], object]) -> Callable[[Path], AbstractContextManager[Parser]]:
    @contextlib.contextmanager
    def start(folder: Path) -> Iterator[Parser]:
        path = folder / name

        def parse(data: bytes) -> None:
            path.write_bytes(data)
            read(path)

        yield parse

    return start


@contextlib.contextmanager
def _receipts(folder: Path) -> Iterator[Parser]:
    """Receipts under a digest that fits: whoever edits one computes it anew."""
    path = folder / "hostile.json"

    def parse(data: bytes) -> None:
        with contextlib.suppress(ValueError, TypeError, KeyError, RecursionError):
            content = json.loads(data)
            content["digest"] = receipts.compute_digest(content["canonical"])
            data = json.dumps(content).encode()
        path.write_bytes(data)
        receipts.read(path)

    yield parse


def _bank_seeds() -> list[bytes]:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        return [make_bank(Path(folder)).read_bytes()]


@contextlib.contextmanager
def _recordings(folder: Path) -> Iterator[Parser]:
    with assay.open(folder / "kb", embedder="none") as base:
        base.add([{"id": "a", "text": "how to rotate the signing key"}])
        yield lambda data: (recordings.replay(recordings.loads(data.decode("utf-8", "replace")), base), None)[1]


_CALLS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("memory_store", {"text": "the key is in the safe", "importance": 0.5, "tags": ["a"], "created": "2025-01-01"}),
    ("memory_recall", {"query": "where is the key?", "k": 3, "since": "last week", "budget": 50, "details": True}),
    ("memory_list", {"limit": 3, "where": 'lang = "en"'}),
    ("memory_update", {"id": "x", "text": "it is in the drawer"}),
    ("memory_forget", {"id": "x"}),
    ("memory_explain", {"query": "key", "id": "x"}),
    ("search", {"query": "signing key", "k": 2}),
    ("get", {"id": "a"}),
)


@contextlib.contextmanager
def _mcp(folder: Path) -> Iterator[Parser]:
    """The tools of the MCP server, called with whatever JSON a client sends."""
    service.open(folder / "memory", embedder="none").close()
    with assay.open(folder / "kb", embedder="none") as base:
        base.add([{"id": "a", "text": "how to rotate the signing key"}])
    limits = ScopeLimits(("global",))
    tools = {**TOOLS, **DOCUMENT_TOOLS}

    memory = SharedService(lambda: service.open(folder / "memory"))
    documents = SharedService(lambda: assay.open(folder / "kb", create=False))
    with asyncio.Runner() as loop:

        def parse(data: bytes) -> None:
            message = _read_json(data)
            if not isinstance(message, list) or len(message) != 2 or not isinstance(message[1], dict):
                raise QueryError("no call of a tool", "send its name and its arguments")
            loop.run(run_tool(tools, str(message[0]), message[1], {False: memory, True: documents}, limits))

        yield parse
        loop.run(memory.close())
        loop.run(documents.close())


_REQUESTS: tuple[tuple[str, str, Any], ...] = (
    ("POST", "/search", {"text": "signing key", "k": 2, "where": 'lang = "en"', "pipeline": "bm25", "budget": 40}),
    ("POST", "/search", {"text": "key", "pipeline": {"legs": {"bm25": {}}}, "at": "2025-01-01", "snapshot": "v1"}),
    ("POST", "/explain", {"text": "key", "id": "a"}),
    ("POST", "/pipelines/preflight", {"pipeline": {"legs": {"bm25": {}}, "step": [{"use": "recency"}]}}),
    ("POST", "/search/batch", {"queries": [{"text": "key"}]}),
    ("POST", "/documents", {"documents": [{"id": "b", "text": "a text", "title": "B"}]}),
    ("POST", "/judgements", {"text": "key", "id": "a", "grade": 2}),
    ("POST", "/v1/rerank", {"query": "key", "documents": ["a", "b"], "top_n": 1}),
    ("POST", "/memories", {"text": "the key is in the safe"}),
    ("POST", "/memories/recall", {"query": "key", "k": 2}),
    ("GET", "/documents?limit=2&where=a%3D1", None),
)


@contextlib.contextmanager
def _http(folder: Path) -> Iterator[Parser]:
    """Routes of `assay serve`, in this process. A status of 500 or above is a finding."""
    with assay.open(folder / "kb", embedder="none") as base, asyncio.Runner() as loop:
        base.add([{"id": "a", "text": "how to rotate the signing key"}])
        app = make_server_app(ServerContext.make(base, ServerSettings(workers=1, waiting=8)))

        async def ask(method: str, path: str, body: bytes) -> httpx.Response:
            transport = httpx.ASGITransport(app, raise_app_exceptions=True)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
                headers = {"content-type": "application/json"}
                return await client.request(method, path, content=body, headers=headers)

        def parse(data: bytes) -> None:
            head, _, body = data.partition(b"\n")
            method, _, path = head.decode("ascii", "replace").partition(" ")
            if method not in ("GET", "POST") or not path.startswith("/") or not path.isprintable():
                raise QueryError("no request", "send a method, a path and a body")
            try:
                answer = loop.run(ask(method, path[:2_000], body))
            except httpx.InvalidURL as error:
                raise QueryError(str(error), "send a path") from error
            if answer.status_code >= 500:
                raise ValueError(f"status {answer.status_code}: {answer.text[:200]}")
            if answer.status_code >= 400:
                raise QueryError(answer.text[:100], "see the answer")

        yield parse


def _read_json(data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise QueryError("no JSON", "send JSON") from error


TARGETS: Mapping[str, Target] = {
    "files": Target(_files, _file_seeds),
    "filters": Target(_filters, lambda: list(FILTERS)),
    "configs": Target(_configs, read_presets),
    "npz": Target(_file_parser("hostile.npz", lambda path: open_bank(path, verify=True)), _bank_seeds),
    "receipts": Target(_receipts, lambda: [read_receipt_seed()]),
    "recordings": Target(_recordings, lambda: [json.dumps(RECORDING).encode()]),
    "mcp": Target(_mcp, lambda: [json.dumps(call).encode() for call in _CALLS]),
    "http": Target(
        _http,
        lambda: [f"{method} {path}\n{json.dumps(body) if body else ''}".encode() for method, path, body in _REQUESTS],
    ),
}
