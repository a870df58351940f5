"""`assay pipeline`: what a pipeline is, and what preflight thinks of it."""

from __future__ import annotations

import tomllib

import click

from assay.cli.failures import Group
from assay.cli.options import json_option

_name = click.argument("name", default="default", metavar="[NAME|FILE]")


@click.group(cls=Group)
def pipeline() -> None:
    """Show, check and list pipelines."""


@pipeline.command()
@_name
@click.option("--resolved", is_flag=True, help="Every setting, defaults included; reads back to the same digest.")
def show(name: str, resolved: bool) -> None:
    """Print a pipeline's TOML and its digest."""
    from assay.cli.terminal import safe
    from assay.cli.toml import resolved_toml
    from assay.config.load import load, source

    found = load(name)
    text = resolved_toml(found) if resolved else source(name)
    click.echo(safe(text.rstrip(), keep_lines=True))
    click.echo(click.style(f"# digest {found.digest}", dim=True))


@pipeline.command()
@_name
@json_option
def check(name: str, as_data: bool) -> None:
    """Say what preflight thinks of a pipeline; exits with 2 when it cannot work.

    Nothing is searched. Scales are walked from step to step, thresholds are held against the scores that can reach
    them, and every leg is tried alone: can what only it finds enter the answer?
    """
    from dataclasses import asdict

    from assay.cli.terminal import as_json, safe
    from assay.config.load import load
    from assay.config.preflight import check_scales, enough_weight, only_fills, preflight

    found = load(name)
    findings, legs = preflight(found), [plan.name for plan in found.legs]
    if as_data:
        said = [asdict(finding) for finding in findings]
        click.echo(as_json({"name": found.name, "digest": found.digest, "findings": said}, indent=2))
    else:
        click.echo(f"{click.style(safe(found.name), bold=True)} {click.style(found.digest[:12], dim=True)}")
        for step, _, made in check_scales(found):
            click.echo(f"  {safe(step):<16} gives {made.scale} scores from {made.lo:.4g} to {made.hi:.4g}")
        for finding in findings:
            colour = {"error": "red", "warning": "yellow", "info": "cyan"}[finding.level]
            click.echo(
                f"{click.style(finding.level, fg=colour, bold=True)} {safe(finding.where)}: {safe(finding.text)}"
            )
            leg = finding.where.removeprefix("legs.")
            if "cannot enter" not in finding.text or leg not in legs:
                continue
            if only_fills(found, leg):
                click.echo("  this fuser moves nothing either: the leg fills what the others leave open")
            elif (enough := enough_weight(found, leg)) is not None:
                click.echo(f"  {click.style('cure:', fg='green')} from a weight of {enough:g} on it can (fuse.weights)")
        if not findings:
            click.secho("nothing to complain about", fg="green")
    if any(finding.level == "error" for finding in findings):
        raise click.exceptions.Exit(2)


@pipeline.command()
def presets() -> None:
    """List the pipelines that ship with Assay."""
    from assay.config.load import load, source
    from assay.config.load import presets as names

    for name in names():
        found = load(name)
        legs = " + ".join(plan.name for plan in found.legs)
        about = tomllib.loads(source(name)).get("about", "")
        click.echo(f"{click.style(f'{name:<10}', bold=True)} {about}")
        click.echo(click.style(f"{'':<10} {legs}, k = {found.k}, digest {found.digest[:12]}", dim=True))
