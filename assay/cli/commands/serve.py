"""`assay serve`: a store over HTTP."""

from __future__ import annotations

from pathlib import Path

import click

from assay.cli.options import open_store, store_option

_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)


@click.command()
@store_option
@click.option(
    "--address", default="127.0.0.1:8080", show_default=True, metavar="[HOST:]PORT", help="0 takes a free port."
)
@click.option(
    "--workers", default=4, show_default=True, type=click.IntRange(1, 256), help="Requests that run at a time."
)
@click.option(
    "--waiting", default=64, show_default=True, type=click.IntRange(0), help="Requests that wait; more get 503."
)
@click.option("--pipelines", type=_FOLDER, metavar="DIR", help="TOML files that requests may name, beside the presets.")
@click.option("--receipts", type=_FOLDER, metavar="DIR", help="Receipts to show at /receipts.")
def serve(store: str, address: str, workers: int, waiting: int, pipelines: Path | None, receipts: Path | None) -> None:
    """Serve a store over HTTP: search, documents, memories, the workbench.

    Its routes are described by docs/server.md and by /openapi.json. Ctrl-C finishes the requests that have begun.

    \b
    assay serve --store ./kb
    curl -s localhost:8080/search -d '{"text": "how do I rotate the signing key?"}' -H 'Content-Type: application/json'
    """
    try:
        from assay.serve.http.app import make_server_app
        from assay.serve.http.context import ServerContext
        from assay.serve.http.settings import ServerSettings
        from assay.serve.http.uvicorn_server import run_app
    except ModuleNotFoundError as error:
        from assay.errors import MissingExtra

        if (error.name or "").startswith("assay"):
            raise
        raise MissingExtra("the HTTP server", "serve") from error
    from assay.serve.address import bracket_host, listen, parse_loopback

    host, port = parse_loopback(address)
    settings = ServerSettings(workers=workers, waiting=waiting, pipelines=pipelines, receipts=receipts)
    with open_store(store) as base, listen(host, port) as listener:
        app = make_server_app(ServerContext.make(base, settings))
        click.echo(f"listening on http://{bracket_host(host)}:{listener.getsockname()[1]}", err=True)
        run_app(app, listener, settings.drain_seconds, settings.connections)
