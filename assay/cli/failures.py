"""Turns errors into messages (`error: …`, `cure: …` on stderr) and exit codes; tracebacks only under ASSAY_DEBUG=1."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from types import MappingProxyType
from typing import Any

import click

from assay.cli.terminal import sanitize
from assay.errors import AssayError, ConfigError, RenamedWarning, nearest

EXIT_CODES: Mapping[int, str] = MappingProxyType(
    {
        0: "done; for `search`, an answer, even one that found nothing",
        1: "done, but: `add` skipped files it could not read, `doctor` found something broken, `search --fail-empty` "
        "found nothing, `rm` or `memory forget` was not confirmed, `memory store` stored nothing, `memory import` left "
        "records out, an output file could not be written, a gate or a sweep ended in NO-GO, a replay differs, a run "
        "gave a result that cannot be",
        2: "the command, the query, a filter, a date, a pipeline, a dataset or a receipt cannot be understood; for "
        "`bench gate`, `bench grid` and `bench router`: not measured",
        3: "the store is missing, damaged, busy, read-only or of a newer format",
        4: "the embedding model is missing, damaged or not the store's own",
        5: "a package is missing that this needs; the cure names the extra to install",
        6: "`bench router`: recall is below the second source alone, and the report has the size of the loss",
        70: "a component broke a law, or Assay itself has a bug; the answer is not to be trusted",
        130: "interrupted with Ctrl-C; what was acknowledged is in the store",
        141: "the reader of our output went away (`assay export | head -1`)",
    }
)


class CommandGroup(click.Group):
    """A group whose commands live in other modules and are imported when they are used."""

    def __init__(self, *args: Any, table: Mapping[str, str] = MappingProxyType({}), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.table) or super().list_commands(ctx)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.table:
            return super().get_command(ctx, cmd_name)
        module, _, attribute = self.table[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            suggestion = nearest(args[0], self.list_commands(ctx))
            raise ConfigError(f"{ctx.command_path} has no command {args[0]!r}", suggestion)
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args:
            click.echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:  # click would exit with 1, which means something else here
            raise _OutputClosed from error

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any) -> Any:  # type: ignore[override]
        """Run a command line and exit. Errors become messages here, so that a test sees what a user sees."""
        try:
            with _print_warnings():
                code = super().main(args, prog_name, **{**extra, "standalone_mode": False, "color": _colour()})
            sys.stdout.flush()  # a failing write is noticed here, not at interpreter exit
        except Exception as error:
            if os.environ.get("ASSAY_DEBUG") == "1":
                traceback.print_exception(error)
            code = report_error(error)
        sys.exit(code if isinstance(code, int) else 0)


class _OutputClosed(Exception):
    """The reader of our output closed it."""


def report_error(error: Exception) -> int:
    """Print on stderr what went wrong and its cure; returns the exit code."""
    if isinstance(error, _OutputClosed | BrokenPipeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # else the interpreter fails when it flushes
        return 141
    if isinstance(error, click.Abort):
        click.echo("interrupted", err=True)
        return 130
    if isinstance(error, AssayError):
        return _print_error(error.message, error.cure, error.exit_code)
    if isinstance(error, click.UsageError):
        path = error.ctx.command_path if error.ctx else "assay"
        return _print_error(error.format_message(), f"{path} --help", 2)
    if isinstance(error, click.ClickException):
        return _print_error(error.format_message(), "", error.exit_code)
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return _print_error(f"{where}{error.strerror or error}", "check the path, its permissions and the disk", 1)
    if type(error).__module__ == "sqlite3":
        return _print_error(f"the store's database: {error}", "run: assay doctor; if it is damaged: assay restore", 3)
    name = type(error).__name__
    return _print_error(
        f"a bug in Assay: {name}: {error}", "report it with what the command says under ASSAY_DEBUG=1", 70
    )


@contextmanager
def _print_warnings() -> Iterator[None]:
    """While a command runs, print each warning about an old name once, as a plain line on stderr."""
    printed: set[str] = set()
    with warnings.catch_warnings():
        show = warnings.showwarning

        def print_warning(message: Warning | str, category: type[Warning], *place: Any, **extra: Any) -> None:
            if not issubclass(category, RenamedWarning):
                show(message, category, *place, **extra)
            elif str(message) not in printed:
                printed.add(str(message))
                click.echo(f"warning: {sanitize(str(message))}", err=True)

        warnings.filterwarnings("always", category=RenamedWarning)
        warnings.showwarning = print_warning
        yield


def _colour() -> bool | None:
    """Never under NO_COLOR; else where there is a terminal."""
    return False if os.environ.get("NO_COLOR") else None


def _print_error(message: str, cure: str, code: int) -> int:
    for label, text, style in (("error", message, "red"), ("cure", cure, "green")):
        if text:
            click.echo(
                f"{click.style(label, fg=style, bold=True)}: {sanitize(text, keep_lines=True)}",
                err=True,
                color=_colour(),
            )
    return code
