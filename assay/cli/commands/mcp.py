"""`assay mcp`: the memory as a server for agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from assay.cli.memory.options import pipeline_option, resolve_pipeline
from assay.cli.options import store_option
from assay.memory import PRESET

if TYPE_CHECKING:
    from assay.engine.pipeline import Pipeline
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
def mcp(store: str, scopes: tuple[str, ...], pipeline: str, address: str | None, read_only: bool) -> None:
    """Serve the memory to agents over the Model Context Protocol.

    Over standard input and output for a host that starts it, or over HTTP. The store is made when it is not there yet.

    \b
    assay mcp --store ~/.assay-memory --scope user:me --scope global
    assay mcp --http 127.0.0.1:8765
    assay mcp --pipeline memory.json
    """
    import gc

    gc.disable()  # imports create many objects and no garbage: collecting would cost an eighth of the start
    try:
        from assay.serve.mcp.scopes import ScopeLimits
        from assay.serve.mcp.server import make_server
        from assay.serve.mcp.transports import serve_http, serve_stdio
        from assay.serve.shared_service import SharedService
    except ModuleNotFoundError as error:
        from assay.errors import MissingExtra

        if (error.name or "").startswith("assay"):
            raise
        raise MissingExtra("the MCP server", "mcp") from error
    gc.freeze()
    gc.enable()
    limits = ScopeLimits(scopes)
    recall_pipeline = _check_pipeline(pipeline)
    shared = SharedService(lambda: _open_memory(store, recall_pipeline))
    server = make_server(shared, limits, read_only)
    if address is None:
        serve_stdio(server, shared)
    else:
        serve_http(server, shared, address, lambda url: click.echo(f"listening on {url}", err=True))


def _check_pipeline(pipeline: str) -> str | Pipeline:
    """Load the pipeline now, so that a mistake fails at the start; the default is not loaded, which keeps it fast."""
    if pipeline == PRESET:
        return pipeline
    from assay.config.resolve import resolve

    return resolve(resolve_pipeline(pipeline))


def _open_memory(store: str, pipeline: str | Pipeline) -> MemoryService:
    from assay.memory import service

    return service.open(store, pipeline=pipeline)
