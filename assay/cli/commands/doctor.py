"""`assay doctor`: check a store and print problems with their cures."""

from __future__ import annotations

from dataclasses import asdict

import click

from assay.cli.options import json_option, store_option

_MARKS = {"ok": ("✓", "green"), "warn": ("!", "yellow"), "fail": ("✗", "red")}


@click.command()
@click.option(
    "--deep",
    is_flag=True,
    help="Read every page, every chunk and every file of the index; takes a while on a large store.",
)
@click.option(
    "--accept",
    is_flag=True,
    help="Go on with what is there, after commits were lost or the database was changed outside; then check.",
)
@store_option
@json_option
def doctor(deep: bool, accept: bool, store: str, as_data: bool) -> None:
    """Check a store and its model; every finding says what cures it.

    Exits with 1 when something is broken. A warning (slower or poorer answers, but right ones) does not.
    """
    from assay.cli.terminal import format_count, format_json, sanitize
    from assay.upkeep.doctor import accept as accept_state
    from assay.upkeep.doctor import examine

    if accept:
        accept_state(store)
    checks = examine(store, deep=deep)
    if as_data:
        click.echo(format_json([asdict(check) for check in checks], indent=2))
    else:
        for check in checks:
            mark, colour = _MARKS[check.state]
            name = click.style(f"{check.name:<10}", bold=True)
            click.echo(f"{click.style(mark, fg=colour, bold=True)} {name} {sanitize(check.text)}")
            if check.cure:
                click.echo(f"{'':<13}{click.style('cure:', fg='green')} {sanitize(check.cure)}")
        states = [check.state for check in checks]
        summary = f"{format_count(states.count('fail'), 'failure')}, {format_count(states.count('warn'), 'warning')}"
        click.secho(summary if set(states) != {"ok"} else "all well", dim=True)
    if any(check.state == "fail" for check in checks):
        raise click.exceptions.Exit(1)
