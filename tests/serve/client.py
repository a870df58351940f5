"""A real MCP client against our server: in this process, over stdio, over HTTP. The store has no model: words only."""

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult

from assay.memory import service
from assay.serve.mcp.scopes import ScopeLimits
from assay.serve.mcp.server import make_server
from assay.serve.shared_service import SharedService

ERAS = ("legacy", "auto")
"""The handshake that hosts speak since 2024, and the one without sessions of 2026."""


def run(talk: Callable[..., Awaitable[Any]], *args: Any) -> Any:
    return anyio.run(talk, *args)


def made(folder: Path) -> Path:
    """A store without a model, so that no test waits for one."""
    service.open(folder, embedder="none").close()
    return folder


def command(store: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "assay.cli", "mcp", "--store", str(store), *options]


def started(store: Path, *options: str) -> StdioServerParameters:
    program, *rest = command(store, *options)
    # the SDK hands on no more of the environment than it must
    return StdioServerParameters(command=program, args=rest, env={"ASSAY_HOME": os.environ["ASSAY_HOME"]})


@asynccontextmanager
async def inside(store: Path, *scopes: str, read_only: bool = False) -> AsyncIterator[Client]:
    """A client in this process: the SDK's client and server, without a wire."""
    shared = SharedService(lambda: service.open(store))
    try:
        async with Client(make_server(shared, ScopeLimits(scopes or ("global",)), read_only)) as client:
            yield client
    finally:
        await shared.close()


@contextmanager
def listening(store: Path, *options: str) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """A server process on a free port of this machine, and its address."""
    process = subprocess.Popen(
        command(store, "--http", "127.0.0.1:0", *options), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    try:
        payload = process.stderr.readline()
        assert payload.startswith("listening on http://127.0.0.1:"), payload + process.stderr.read()
        yield payload.removeprefix("listening on ").strip(), process
    finally:
        process.terminate()
        process.communicate()


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The typed result of a call that went well; the text beside it says the same. A recall is asked for details."""
    result = await client.call_tool(tool, {"details": True, **arguments} if tool == "memory_recall" else arguments)
    assert not result.is_error, text(result)
    assert json.loads(text(result)) == result.structured_content
    found: dict[str, Any] = result.structured_content
    return found


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """What a client is told when a call went wrong: always what and cure, never where on this machine."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, text(result)
    payload = text(result)
    assert "Traceback" not in payload
    assert str(Path.cwd()) not in payload
    assert os.sep + "tmp" not in payload
    return payload


def text(result: CallToolResult) -> str:
    (block,) = result.content
    return block.text
