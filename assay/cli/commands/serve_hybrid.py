"""`assay serve-hybrid`: the cascade over HTTP."""

from __future__ import annotations

from pathlib import Path

import click

_FILE = click.Path(path_type=Path)


@click.command("serve-hybrid")
@click.option("--bank", required=True, type=_FILE, metavar="BANK.npz", help="The bank of vectors.")
@click.option("--index", required=True, type=_FILE, metavar="DIR", help="Its index (assay bank index).")
@click.option("--model", type=_FILE, metavar="DIR", help="A next-vector model (assay lvm train).")
@click.option("--val", type=_FILE, metavar="SEQ.npz", help="Held-out sequences for /metrics/hitk_offline.")
@click.option("--pipeline", default="cascade", show_default=True, metavar="NAME|FILE", help="A preset or a TOML file.")
@click.option(
    "--address", default="127.0.0.1:8088", show_default=True, metavar="[HOST:]PORT", help="0 takes a free port."
)
@click.option("--quiet", is_flag=True, help="No log line for each request.")
def serve_hybrid(
    bank: Path, index: Path, model: Path | None, val: Path | None, pipeline: str, address: str, quiet: bool
) -> None:
    """Serve POST /search/hybrid and its metrics on this machine.

    Each request is one line of JSON on standard error.
    """
    try:
        import uvicorn

        from assay.serve.http.connection_limits import make_server_config
        from assay.serve.http.hybrid import make_app
    except ModuleNotFoundError as error:
        from assay.errors import MissingExtra

        if (error.name or "").startswith("assay"):
            raise
        raise MissingExtra("the HTTP server", "serve") from error
    import logging
    import sys

    from assay.cascade import service as cascade
    from assay.cascade.bank.sequences import open_sequences
    from assay.serve.address import bracket_host, listen, parse_loopback

    service = cascade.open_cascade(bank, index, model, pipeline)
    if service.snapshot.layout_warning:
        click.echo(f"warning: {service.snapshot.layout_warning}", err=True)
    pairs = None if val is None else open_sequences(val, service.snapshot.bank, train=False)
    logger = logging.getLogger("assay.serve.http.hybrid")
    if not quiet:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(message)s"))
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
    host, port = parse_loopback(address)
    with listen(host, port) as listener:
        bound_port = listener.getsockname()[1]
        click.echo(f"listening on http://{bracket_host(host)}:{bound_port}", err=True)
        uvicorn.Server(make_server_config(make_app(service, pairs))).run(sockets=[listener])
