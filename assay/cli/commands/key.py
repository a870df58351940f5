"""`assay key`: API keys of the HTTP server."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from assay.cli.failures import CommandGroup
from assay.cli.options import json_option

if TYPE_CHECKING:
    from assay.serve.keys import KeyStore

_FILE = click.option("--keys", "path", metavar="FILE", envvar="ASSAY_KEYS", help="The file of keys.  [env ASSAY_KEYS]")


@click.group(cls=CommandGroup)
def key() -> None:
    """Make, list and revoke API keys of `assay serve`."""


@key.command()
@click.argument("name")
@click.option(
    "--right",
    type=click.Choice(["read", "write", "admin"]),
    default="read",
    show_default=True,
    help="What it may do; write includes read, admin includes both.",
)
@click.option("--scope", "scopes", multiple=True, metavar="NAME", help="A scope it reaches; repeat.  [default: global]")
@click.option("--all-scopes", is_flag=True, help="It reaches every scope that a request names.")
@_FILE
@json_option
def create(name: str, right: str, scopes: tuple[str, ...], all_scopes: bool, path: str | None, as_data: bool) -> None:
    """Make a key and print it. It is shown this once: only its hash is stored."""
    from assay.cli.terminal import format_json

    if all_scopes and scopes:
        raise click.UsageError("--all-scopes and --scope exclude each other")
    made, text = _store(path).create(name, right, None if all_scopes else scopes or ("global",), time.time())
    if as_data:
        click.echo(format_json({"id": made.id, "name": made.name, "right": made.right, "key": text}, indent=2))
        return
    click.echo(text)
    click.echo("keep it now: it is not shown again; requests send it as Authorization: Bearer KEY", err=True)


@key.command("list")
@_FILE
@json_option
def list_keys(path: str | None, as_data: bool) -> None:
    """List keys, the revoked ones too; never their secrets."""
    from assay.cli.terminal import format_json, sanitize

    keys = _store(path).list()
    if as_data:
        rows = [
            {
                "id": k.id,
                "name": k.name,
                "right": k.right,
                "scopes": k.scopes,
                "created": k.created,
                "revoked": k.revoked,
            }
            for k in keys
        ]
        click.echo(format_json(rows, indent=2))
        return
    for one in keys:
        state = "revoked" if one.revoked is not None else one.right
        scopes = "every scope" if one.scopes is None else ", ".join(one.scopes)
        made = time.strftime("%Y-%m-%d", time.gmtime(one.created))
        click.echo(f"{one.id}  {sanitize(one.name):<20} {state:<8} {sanitize(scopes)}  since {made}")
    if not keys:
        click.echo("there is no key yet: assay key create NAME", err=True)


@key.command()
@click.argument("name")
@_FILE
def revoke(name: str, path: str | None) -> None:
    """Make a key useless, by its name or id. A running server refuses it from now on."""
    from assay.cli.terminal import sanitize

    revoked = _store(path).revoke(name, time.time())
    click.echo(f"revoked {sanitize(revoked.name)} ({revoked.id})")


def _store(path: str | None) -> KeyStore:
    from pathlib import Path

    from assay.serve.keys import KeyStore

    return KeyStore(Path(path) if path else None)
