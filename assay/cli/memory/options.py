"""What the memory commands share: which store, which scopes, as of when."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from assay.engine.pipeline import Pipeline
    from assay.memory.service import MemoryService

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
    """Which memories: of one category, with all of some tags."""
    for option in (
        click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only with this tag; several: with all."),
        click.option("--category", metavar="NAME", help="Only of this category."),
    ):
        command = option(command)
    return command


def moment(at: str | None) -> str | float | None:
    """`now` is read from the clock here, at the edge."""
    return time.time() if at is not None and at.strip().lower() == "now" else at


def pipeline_option(command: F) -> F:
    return click.option(
        "--pipeline",
        default="memory",
        metavar="NAME|FILE",
        help="What recalls: a preset, a TOML file, or a JSON file with the keys of 002.",
    )(command)


def chosen(pipeline: str) -> str | Pipeline:
    """A preset or a TOML file by its name; a JSON file is read here, and says on stderr what in it has no effect."""
    if not pipeline.lower().endswith(".json"):
        return pipeline
    from assay.memory.config import configured

    made, warnings = configured(pipeline)
    for warning in warnings:
        click.echo(f"note: {warning}", err=True)
    return made


def opened(store: str, *, create: bool = False, pipeline: str = "memory") -> MemoryService:
    """The memory in a store's folder; only storing and importing make one that is not there."""
    from assay import memory

    return memory.open(store, create=create, pipeline=chosen(pipeline))
