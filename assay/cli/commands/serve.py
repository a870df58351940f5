"""`assay serve`: a store over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.cli.options import open_store, store_option

if TYPE_CHECKING:
    from assay.serve.http.hybrid import CascadeServer

_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
_FILE = click.Path(path_type=Path)


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
@click.option("--per-minute", type=click.IntRange(1), metavar="N", help="Requests of one key or address in a minute.")
@click.option("--pipelines", type=_FOLDER, metavar="DIR", help="TOML files that requests may name, beside the presets.")
@click.option("--receipts", type=_FOLDER, metavar="DIR", help="Receipts to show at /receipts.")
@click.option("--judgements", type=_FILE, metavar="DIR", help="Where grades given in the workbench become a dataset.")
@click.option("--keys", type=_FILE, metavar="FILE", envvar="ASSAY_KEYS", help="The file of keys.  [env ASSAY_KEYS]")
@click.option("--require-keys", is_flag=True, help="Also on the loopback interface, e.g. behind a proxy.")
@click.option(
    "--host-name", "hosts", multiple=True, metavar="NAME", help="A name that requests may call this server by."
)
@click.option(
    "--origin", "origins", multiple=True, metavar="URL", help="A site whose pages may use this server (CORS)."
)
@click.option("--otel", is_flag=True, help="Send OpenTelemetry spans of searches (OTEL_EXPORTER_OTLP_ENDPOINT).")
@click.option("--quiet", is_flag=True, help="No log line for each request.")
@click.option("--bank", type=_FILE, metavar="BANK.npz", help="Also serve /search/hybrid over this bank of vectors.")
@click.option("--index", type=_FILE, metavar="DIR", help="The index of the bank.")
@click.option("--model", type=_FILE, metavar="DIR", help="A next-vector model for the bank.")
@click.option("--val", type=_FILE, metavar="SEQ.npz", help="Held-out sequences for /metrics/hitk_offline.")
def serve(
    store: str,
    address: str,
    workers: int,
    waiting: int,
    per_minute: int | None,
    pipelines: Path | None,
    receipts: Path | None,
    judgements: Path | None,
    keys: Path | None,
    require_keys: bool,
    hosts: tuple[str, ...],
    origins: tuple[str, ...],
    otel: bool,
    quiet: bool,
    bank: Path | None,
    index: Path | None,
    model: Path | None,
    val: Path | None,
) -> None:
    """Serve a store over HTTP, with a workbench in the browser.

    Its routes are described by docs/server.md and by /openapi.json. Any other address than a loopback one needs keys
    (assay key create). Ctrl-C finishes the requests that have begun.

    \b
    assay serve --store ./kb
    curl -s localhost:8080/search -d '{"text": "how do I rotate the signing key?"}' -H 'Content-Type: application/json'
    """
    try:
        from assay.serve.http.app import make_server_app
        from assay.serve.http.context import ServerContext
        from assay.serve.http.logs import install_logs
        from assay.serve.http.settings import make_settings
        from assay.serve.http.tracing import open_tracer
        from assay.serve.http.uvicorn_server import run_app
    except ModuleNotFoundError as error:
        from assay.errors import MissingExtra

        if (error.name or "").startswith("assay"):
            raise
        raise MissingExtra("the HTTP server", "serve") from error
    from assay.serve.address import bracket_host, listen, parse_address
    from assay.serve.keys import KeyStore

    if (bank is None) != (index is None):
        raise click.UsageError("--bank and --index belong together")
    host, port, is_loopback = parse_address(address)
    key_store = KeyStore(keys)
    settings = make_settings(
        is_loopback,
        key_store,
        require_keys,
        hosts,
        workers=workers,
        waiting=waiting,
        per_minute=per_minute,
        origins=origins,
        pipelines=pipelines,
        receipts=receipts,
        judgements=judgements,
    )
    install_logs(requests=not quiet)
    cascade = None if bank is None or index is None else _open_cascade(bank, index, model, val)
    with open_store(store) as base, listen(host, port) as listener:
        context = ServerContext.make(base, settings, key_store, open_tracer() if otel else None)
        app = make_server_app(context, cascade)
        click.echo(f"listening on http://{bracket_host(host)}:{listener.getsockname()[1]}", err=True)
        run_app(app, listener, settings.drain_seconds, settings.connections)


def _open_cascade(bank: Path, index: Path, model: Path | None, val: Path | None) -> CascadeServer:
    from assay.cascade.bank.sequences import open_sequences
    from assay.cascade.service import open_cascade
    from assay.serve.http.hybrid import CascadeServer

    cascade = open_cascade(bank, index, model)
    return CascadeServer(cascade, None if val is None else open_sequences(val, cascade.snapshot.bank, train=False))
