"""Options that memory commands share: the store, the scopes, the clock, the pipeline."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from assay.memory import PRESET

if TYPE_CHECKING:
    from assay.engine.pipeline import Pipeline
    from assay.memory.safety import SecretPolicy
    from assay.memory.service import MemoryService

SECRET_POLICIES = ("refuse", "mask", "allow")
F = TypeVar("F", bound=Callable[..., Any])


def scopes_option(command: F) -> F:
    return click.option(
        "--scope",
        "scopes",
        multiple=True,
        default=("global",),
        metavar="NAME",
        help="A scope to work in; may be given several times.  [default: global]",
    )(command)


def at_option(command: F) -> F:
    return click.option("--at", metavar="DATE|now", help="The clock: as of this moment.  [default: now]")(command)


def kind_options(command: F) -> F:
    """Which memories: of one category, with all of some tags, created in a range."""
    for option in (
        click.option("--until", metavar="DATE", help="Only created until then, its day included."),
        click.option("--since", metavar="DATE", help="Only created since then: 2026-03-01, 'last week', 'in May'."),
        click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only with this tag; several: with all."),
        click.option("--category", metavar="NAME", help="Only of this category."),
    ):
        command = option(command)
    return command


def pipeline_option(command: F) -> F:
    return click.option(
        "--pipeline",
        default=PRESET,
        metavar="NAME|FILE",
        help="What recalls: a preset, a TOML file, or JSON in the memory pipeline's keys.  [default: recall]",
    )(command)


def resolve_pipeline(pipeline: str) -> str | Pipeline:
    """The name of a preset or TOML file as it is; a JSON file is converted, with a note on stderr for each key without
    effect."""
    if not pipeline.lower().endswith(".json"):
        return pipeline
    from assay.memory.config import load_pipeline

    converted, warnings = load_pipeline(pipeline)
    for warning in warnings:
        click.echo(f"note: {warning}", err=True)
    return converted


def secrets_option(command: F) -> F:
    return click.option(
        "--secrets",
        type=click.Choice(SECRET_POLICIES),
        default="refuse",
        metavar="|".join(SECRET_POLICIES),
        help="What happens to a text with a key, token or password.  [default: refuse]",
    )(command)


def open_memory(
    store: str, *, create: bool = False, pipeline: str = PRESET, secrets: SecretPolicy = "refuse"
) -> MemoryService:
    """Open the memory of a store; only storing and importing create one."""
    from assay import memory

    return memory.open(store, create=create, pipeline=resolve_pipeline(pipeline), secrets=secrets)
