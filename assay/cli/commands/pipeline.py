"""`assay pipeline`: print, check and list pipelines."""

from __future__ import annotations

import tomllib

import click

from assay.cli.failures import CommandGroup
from assay.cli.options import json_option

_name = click.argument("name", default="default", metavar="[NAME|FILE]")


@click.group(cls=CommandGroup)
def pipeline() -> None:
    """Show, check and list pipelines."""


@pipeline.command()
@_name
@click.option("--resolved", is_flag=True, help="Every setting, defaults included; reads back to the same digest.")
def show(name: str, resolved: bool) -> None:
    """Print a pipeline's TOML and its digest."""
    from assay.cli.terminal import sanitize
    from assay.cli.toml import resolved_toml
    from assay.config.load import load, read_toml

    pipeline = load(name)
    text = resolved_toml(pipeline) if resolved else read_toml(name)
    click.echo(sanitize(text.rstrip(), keep_lines=True))
    click.echo(click.style(f"# digest {pipeline.digest}", dim=True))


@pipeline.command()
@_name
@json_option
def check(name: str, as_data: bool) -> None:
    """Say what preflight thinks of a pipeline; exits with 2 when it cannot work.

    It lists every program that the pipeline would start, every host that it would contact and every environment
    variable that it would read, and whether you allow it (`assay allow`). Nothing is searched. Scales are propagated
    from step to step, thresholds are compared with the scores that can reach
    them, and every leg is tried alone: can what only it finds enter the answer?
    """
    from dataclasses import asdict

    from assay.cli.terminal import format_json, sanitize
    from assay.config.effects import find_effects, find_reads
    from assay.config.load import load
    from assay.config.preflight import check_scales, enough_weight, only_fills, preflight
    from assay.util.permissions import find_forbidden

    pipeline = load(name)
    effects = [
        {"where": where, "effect": str(effect), "allowed": not find_forbidden([effect])}
        for where, effect in find_effects(pipeline)
    ]
    reads = [{"where": where, "path": path} for where, path in find_reads(pipeline)]
    findings, legs = preflight(pipeline), [plan.name for plan in pipeline.legs]
    if as_data:
        rows = [asdict(finding) for finding in findings]
        facts = {"name": pipeline.name, "digest": pipeline.digest, "findings": rows, "effects": effects, "reads": reads}
        click.echo(format_json(facts, indent=2))
    else:
        click.echo(f"{click.style(sanitize(pipeline.name), bold=True)} {click.style(pipeline.digest[:12], dim=True)}")
        for step, _, scores in check_scales(pipeline):
            click.echo(f"  {sanitize(step):<16} gives {scores.scale} scores from {scores.lo:.4g} to {scores.hi:.4g}")
        for effect in effects:
            allowed = (
                click.style("allowed", fg="green") if effect["allowed"] else click.style("not allowed", fg="yellow")
            )
            click.echo(f"  {sanitize(str(effect['where']))} needs {sanitize(str(effect['effect']))}: {allowed}")
        for read in reads:
            click.echo(f"  {sanitize(read['where'])} reads {sanitize(read['path'])}")
        for finding in findings:
            colour = {"error": "red", "warning": "yellow", "info": "cyan"}[finding.level]
            level = click.style(finding.level, fg=colour, bold=True)
            click.echo(f"{level} {sanitize(finding.where)}: {sanitize(finding.text)}")
            leg = finding.where.removeprefix("legs.")
            if "cannot enter" not in finding.text or leg not in legs:
                continue
            if only_fills(pipeline, leg):
                click.echo("  this fuser moves nothing either: the leg fills what the others leave open")
            elif (enough := enough_weight(pipeline, leg)) is not None:
                click.echo(f"  {click.style('cure:', fg='green')} from a weight of {enough:g} on it can (fuse.weights)")
        if not findings:
            click.secho("nothing to complain about", fg="green")
    if any(finding.level == "error" for finding in findings):
        raise click.exceptions.Exit(2)


@pipeline.command()
def presets() -> None:
    """List the pipelines that ship with Assay."""
    from assay.config.load import load, read_toml
    from assay.config.load import preset_names as names

    for name in names():
        pipeline = load(name)
        legs = " + ".join(plan.name for plan in pipeline.legs)
        about = tomllib.loads(read_toml(name)).get("about", "")
        click.echo(f"{click.style(f'{name:<10}', bold=True)} {about}")
        click.echo(click.style(f"{'':<10} {legs}, k = {pipeline.k}, digest {pipeline.digest[:12]}", dim=True))
