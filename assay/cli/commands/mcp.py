"""`assay mcp`: the memory as a server for agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from assay.cli.memory.options import chosen, pipeline_option
from assay.cli.options import store_option

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

    gc.disable()  # loading makes many objects and no garbage: looking for some would cost an eighth of the start
    try:
        from assay.serve.mcp.scopes import Bounds
        from assay.serve.mcp.server import server
        from assay.serve.mcp.transports import serve_http, serve_stdio
        from assay.serve.shared_service import SharedService
    except ModuleNotFoundError as error:
        from assay.errors import MissingExtra

        if (error.name or "").startswith("assay"):
            raise
        raise MissingExtra("the MCP server", "mcp") from error
    gc.freeze()
    gc.enable()
    bounds = Bounds(scopes)
    recalls = _checked(pipeline)
    desk = SharedService(lambda: _opened(store, recalls))
    offered = server(desk, bounds, read_only)
    if address is None:
        serve_stdio(offered, desk)
    else:
        serve_http(offered, desk, address, lambda where: click.echo(f"listening on {where}", err=True))


def _checked(pipeline: str) -> str | Pipeline:
    """What recalls, read now, so that a mistake ends the start; the default needs no look and keeps the start short."""
    if pipeline == "memory":
        return pipeline
    from assay.config.resolve import resolve

    return resolve(chosen(pipeline))


def _opened(store: str, pipeline: str | Pipeline) -> MemoryService:
    from assay.memory import service

    return service.open(store, pipeline=pipeline)
