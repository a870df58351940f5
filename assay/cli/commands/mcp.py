"""`assay mcp`: a memory, and documents, as a server for agents."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from assay.cli.memory.options import pipeline_option, resolve_pipeline, secrets_option
from assay.cli.options import store_option
from assay.memory import PRESET

if TYPE_CHECKING:
    from assay.engine.pipeline import Pipeline
    from assay.kb import KnowledgeBase
    from assay.memory.safety import SecretPolicy
    from assay.memory.service import MemoryService


@click.command()
@store_option
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    default=("global",),
    metavar="NAME",
    help="A scope that clients may reach; repeat for more. The first is where they store.  [default: global]",
)
@pipeline_option
@click.option(
    "--http",
    "address",
    metavar="[HOST:]PORT",
    help="Serve over HTTP instead of stdio, on this machine only; port 0 takes a free one.",
)
@click.option("--read-only", is_flag=True, help="Offer only the tools that change nothing.")
@secrets_option
@click.option("--max-memories", type=click.IntRange(1), metavar="N", help="Memories that a scope may hold.")
@click.option(
    "--max-per-minute",
    type=click.IntRange(1),
    default=600,
    metavar="N",
    help="Memories that may be stored in a scope per minute.  [default: 600]",
)
@click.option("--documents", metavar="STORE", help="Also offer `search` and `get` over the documents of this store.")
@click.option("--no-memory", is_flag=True, help="Offer only the documents.")
@click.pass_context
def mcp(
    ctx: click.Context,
    store: str,
    scopes: tuple[str, ...],
    pipeline: str,
    address: str | None,
    read_only: bool,
    secrets: SecretPolicy,
    max_memories: int | None,
    max_per_minute: int,
    documents: str | None,
    no_memory: bool,
) -> None:
    """Serve a memory and documents to agents over MCP.

    Over standard input and output for a host that starts it, or over HTTP. The memory is made when it is not there yet.
    Scopes limit the memory; the documents are another store, and memories are not reached through it.

    \b
    assay mcp --store ~/.assay-memory --scope user:me --scope global
    assay mcp --documents ./kb --no-memory
    assay mcp --http 127.0.0.1:8765
    assay mcp --pipeline memory.json
    """
    import gc

    gc.disable()  # imports create many objects and no garbage: collecting would cost an eighth of the start
    try:
        from assay.serve.mcp.scopes import ScopeLimits
        from assay.serve.mcp.server import make_server
        from assay.serve.mcp.transports import serve_http, serve_stdio
        from assay.serve.shared_service import ServiceGroup, SharedService
    except ModuleNotFoundError as error:
        from assay.errors import MissingExtra

        if (error.name or "").startswith("assay"):
            raise
        raise MissingExtra("the MCP server", "mcp") from error
    gc.freeze()
    gc.enable()
    if no_memory and documents is None:
        raise click.UsageError("--no-memory leaves nothing to serve: name a store of documents with --documents")
    limits = ScopeLimits(scopes)
    recall_pipeline = _check_pipeline(pipeline)
    memory = (
        None
        if no_memory
        else SharedService(lambda: _open_memory(store, recall_pipeline, secrets, max_memories, max_per_minute))
    )
    base = None if documents is None else SharedService(lambda: _open_documents(str(documents)))
    server = make_server(memory, limits, read_only, base)
    group = ServiceGroup(memory, base)
    if address is not None:
        serve_http(server, group, address, lambda url: click.echo(f"listening on {url}", err=True))
        return
    if sys.stdin.isatty():
        click.echo(describe_connection(shutil.which("assay") or "assay", host_arguments(ctx)), err=True)
    serve_stdio(server, group)


def host_arguments(ctx: click.Context) -> list[str]:
    """The arguments with which a host starts the same server: it runs in a folder of its own, without our variables,
    so paths are absolute and the store is named."""
    words = ["mcp", "--store", _absolute(ctx.params["store"])]
    for option in ctx.command.params:
        name = str(option.name)
        if name in ("store", "address") or ctx.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        value = ctx.params[name]
        for one in value if isinstance(value, tuple) else (value,):
            is_path = name == "documents" or (name == "pipeline" and Path(one).exists())
            words += [option.opts[0]] if one is True else [option.opts[0], _absolute(one) if is_path else str(one)]
    return words


def _absolute(address: str) -> str:
    """A path from the root; an address with a scheme, and one in the home folder, as it is."""
    return address if address.startswith("~/") or "://" in address else os.path.abspath(address)


def describe_connection(command: str, words: Sequence[str]) -> str:
    """What to tell a person who starts the server in a terminal: what it is, and how to connect a host."""
    entry = json.dumps({"mcpServers": {"assay": {"command": command, "args": list(words)}}}, ensure_ascii=False)
    line = f"{shlex.quote(command)} {shlex.join(words)}"
    return "\n".join(
        [
            "This is an MCP server: it waits for a host on standard input. Stop it with Ctrl-C, and connect a host:",
            f"  Claude Code     claude mcp add assay -- {line}",
            f"  Claude Desktop  claude_desktop_config.json: {entry}",
            f"  Cursor          .cursor/mcp.json: {entry}",
            f"  without install uvx --from 'assay-retrieval[mcp]' assay {shlex.join(words)}",
            f"  over HTTP       {line} --http 127.0.0.1:8765, then the address http://127.0.0.1:8765/mcp",
        ]
    )


def _open_documents(store: str) -> KnowledgeBase:
    from assay import kb

    return kb.open(store, create=False)


def _check_pipeline(pipeline: str) -> str | Pipeline:
    """Load the pipeline now, so that a mistake fails at the start; the default is not loaded, which keeps it fast."""
    if pipeline == PRESET:
        return pipeline
    from assay.config.resolve import resolve

    return resolve(resolve_pipeline(pipeline))


def _open_memory(
    store: str, pipeline: str | Pipeline, secrets: SecretPolicy, memories: int | None, per_minute: int
) -> MemoryService:
    from assay.memory import service
    from assay.memory.safety import StoreLimits

    limits = StoreLimits(memories=memories, per_minute=per_minute)
    return service.open(store, pipeline=pipeline, secrets=secrets, limits=limits)
