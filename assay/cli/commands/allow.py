"""`assay allow`: what pipelines, receipts and recordings may do outside of this process."""

from __future__ import annotations

import click

from assay.cli.options import json_option


@click.command()
@click.argument("effects", nargs=-1, metavar="[KIND:NAME]…")
@click.option("--remove", is_flag=True, help="Take these back instead.")
@json_option
def allow(effects: tuple[str, ...], remove: bool, as_data: bool) -> None:
    """Say what pipelines and receipts may do outside of Assay.

    Data from strangers may name a program, a host or an environment variable. Nothing of it is started, contacted or
    read until you allow it: program:NAME, host:NAME or variable:NAME; a star instead of a name allows every one. For
    one run, set the environment variable ASSAY_ALLOW, separated by commas.

    \b
    assay allow                                          # what is allowed now
    assay allow host:api.jina.ai variable:JINA_API_KEY   # the rerank provider of the memory pipeline
    assay allow --remove program:qmd
    """
    from assay.cli.terminal import format_json, sanitize
    from assay.util.permissions import (
        allow_file,
        parse_effect,
        read_allow_file,
        read_allowed,
        write_allow_file,
    )

    if remove and not effects:
        raise click.UsageError("name what to take back")
    if effects:
        given = [parse_effect(text) for text in effects]
        before = read_allow_file()
        kept = [effect for effect in before if effect not in given] if remove else [*before, *given]
        write_allow_file(kept)
    allowed = sorted(read_allowed())
    if as_data:
        click.echo(format_json({"file": str(allow_file()), "allowed": [str(effect) for effect in allowed]}, indent=2))
        return
    for effect in allowed:
        click.echo(f"{sanitize(str(effect))}")
    if not allowed:
        click.echo("nothing is allowed: pipelines start no program, contact no host and read no environment variable")
