"""The references that are generated: docs/reference/cli.md from the commands, config.md from the components.

`make docs` writes them; `make lint` and a test say when they are out of date.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
import typing
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import UnionType
from typing import Any, Literal

import click

from assay.cli.failures import EXIT_CODES
from assay.cli.main import cli
from assay.config.registry import TABLES, component_class

_WRITTEN = "<!-- Written by tools/docs/cli_reference.py; edit there, then run: make docs -->\n"


def cli_markdown() -> str:
    """Every command with its arguments and options, then exit codes and environment."""
    lines = ["# The command line", "", _WRITTEN]
    lines += [_text(cli.help), ""]
    lines += ["Options of `assay` itself:", "", *_options(cli)]
    for path, command in _commands(cli, ("assay",)):
        lines += [f"## {' '.join(path)}" if len(path) == 2 else f"### {' '.join(path)}", ""]
        if not isinstance(command, click.Group):
            arguments = " ".join(_argument(p) for p in command.params if isinstance(p, click.Argument))
            lines += [
                "```",
                f"{' '.join(path)}{' [OPTIONS]' if _named(command) else ''} {arguments}".rstrip(),
                "```",
                "",
            ]
        lines += [_text(command.help), "", *_options(command)]
    lines += ["## Exit codes", "", "| code | meaning |", "|---|---|"]
    lines += [f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items()]
    lines += ["", "Errors go to stderr as `error: …` and `cure: …`.", ""]
    lines += ["## Environment", "", "| variable | what it does |", "|---|---|"]
    lines += [f"| `{name}` | {what} |" for name, what in _ENVIRONMENT.items()]
    return "\n".join(lines) + "\n"


_ENVIRONMENT = {
    "ASSAY_STORE": "the store's folder where no `--store` is given",
    "ASSAY_HOME": "where models and cached vectors are kept; default `$XDG_CACHE_HOME/assay` or `~/.cache/assay`",
    "ASSAY_EMBED_KEY": "the key for an `http:` embedder",
    "ASSAY_CHAT_KEY": "the key for the endpoint of `assay bench synth --endpoint`",
    "ASSAY_DATA": "a folder of datasets that `assay bench` knows by name",
    "JINA_API_KEY and its kin": "keys of rerank providers, each under its provider's own name; see docs/rerankers.md",
    "ASSAY_WORKERS": "helper processes that read and index large folders and run sweeps, 0 for none; default one per "
    "core, at most 4",
    "ASSAY_DEBUG": "`1` shows the traceback of an error",
    "NO_COLOR": "anything turns colours off",
}


def _commands(group: click.Group, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from _commands(command, (*path, name))


def _text(said: str | None) -> str:
    """A help text as Markdown: click's marks for "do not wrap" become code blocks."""
    blocks = inspect.cleandoc(said or "").split("\n\n")
    return "\n\n".join(f"```\n{block[1:].strip()}\n```" if block.startswith("\b") else block for block in blocks)


def _named(command: click.Command) -> list[click.Option]:
    return [p for p in command.params if isinstance(p, click.Option) and p.help and p.name != "version"]


def _options(command: click.Command) -> list[str]:
    named = _named(command)
    if not named:
        return []
    return ["| option | what it does |", "|---|---|", *(_row(option) for option in named), ""]


def _row(option: click.Option) -> str:
    value = "" if option.is_flag else f" {option.metavar}"
    spelt = f"{', '.join(option.opts)}{value}".replace("|", "\\|")
    default = f" Default: `{option.default}`." if isinstance(option.default, str) and option.default else ""
    return f"| `{spelt}` | {option.help}{default} |"


def _argument(argument: click.Argument) -> str:
    name = argument.metavar or (argument.name or "").upper()
    return name if argument.required or name.startswith("[") else f"[{name}]"


_PLAN = """\
A pipeline is a TOML file: legs find candidates, one fuser merges them, steps rescore and select, in the order they
stand. An unknown, missing or ill-typed key is an error that names the nearest real key. `assay pipeline show NAME
--resolved` prints a pipeline with every default filled in; `assay pipeline check NAME` says what preflight thinks.

```toml
about = "Words and meaning"    # free text
k = 10                         # the length of an answer, and what triggers read
budget_ms = 1500               # the most that all legs and steps may take together

[legs.bm25]                    # one table per leg; its name is yours
use = "bm25"                   # which leg; by default the table's name
k = 100                        # how deep it looks
priority = 0                   # who wins a tie: the lower number
when = { use = "fewer_than", count = 3 }   # a trigger; without one the leg always runs
after = ["dense"]              # legs before it whose finds it may see
cap_ms = 600                   # the most it may take: past it, it is called off and skipped, on the record
cost_ms = 40                   # what it is expected to take, until a record says otherwise
required = false               # true: a failure fails the query, instead of being a skip on the record

[legs.elsewhere]               # a leg that looks in another place: a source instead of `use`
source = { use = "qmd", collection = "notes" }

[legs.both.legs.bm25]          # a leg with legs of its own is a pipeline of its own
[legs.both.legs.dense]
[legs.both.fuse]
use = "rrf"

[fuse]
use = "rrf"
by = "doc_id"                  # one candidate for each value of this field; without it, for each chunk

[[step]]                       # reranking, scoring and selecting, in this order
use = "importance"
name = "importance"            # its name on the trace; by default what it uses
cap_ms = 200                   # as for legs; so is cost_ms
```

The keys of a component stand beside these."""

_TITLES = {
    "leg": ("Legs", "`[legs.NAME]`: find candidates; nothing else adds any."),
    "source": ("Sources", "`source = { use = … }` of a leg: find candidates elsewhere (docs/router.md)."),
    "fuser": ("Fusers", "`[fuse]`: merge the legs' rankings into one."),
    "step": ("Steps", "`[[step]]`: rerank, score or select what was found."),
    "trigger": ("Triggers", "`when = { use = … }` of a leg: does it run?"),
}


def config_markdown() -> str:
    """Every registered component: what it does, its keys, their types and defaults."""
    lines = ["# Pipelines as config", "", _WRITTEN, _PLAN, ""]
    for kind, (title, about) in _TITLES.items():
        lines += [f"## {title}", "", about, ""]
        for name in TABLES[kind]:
            lines += _component(name, component_class(typing.cast(Any, kind), name))
    return "\n".join(lines).rstrip() + "\n"


def _component(name: str, cls: type[Any]) -> list[str]:
    hints = typing.get_type_hints(cls)
    fields = dataclasses.fields(cls)
    lines = [f"### {name}", "", inspect.cleandoc(cls.__doc__ or ""), ""]
    if fields:
        lines += ["| key | type | default |", "|---|---|---|"]
        lines += [f"| `{field.name}` | {_type(hints[field.name])} | {_default(field)} |" for field in fields]
        lines += [""]
    return lines


def _type(hint: Any) -> str:
    """A field's type in the words of TOML."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return " or ".join(f'`"{value}"`' for value in arguments)
    if origin in (typing.Union, UnionType):
        return " or ".join(_type(option) for option in arguments if option is not type(None))
    if origin is tuple:
        return f"list of {_type(arguments[0])}"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return f"table of {_type(arguments[1])}"
    return {float: "number", int: "whole number", str: "text", bool: "true or false"}.get(hint, "any value")


def _default(field: dataclasses.Field[Any]) -> str:
    missing = dataclasses.MISSING
    if field.default is missing and field.default_factory is missing:
        return "must be given"
    value = field.default if field.default is not missing else typing.cast(Callable[[], Any], field.default_factory)()
    if value is None:
        return "not set"
    if isinstance(value, tuple):
        value = list(value)
    return f"`{str(value).lower() if isinstance(value, bool) else value!r}`".replace("'", '"')


PAGES: Mapping[str, Callable[[], str]] = {"cli.md": cli_markdown, "config.md": config_markdown}


def stale(folder: Path) -> list[Path]:
    """The generated pages that do not say what the code says."""
    return [folder / name for name, make in PAGES.items() if _read(folder / name) != make()]


def _read(path: Path) -> str:
    return path.read_text("utf-8") if path.is_file() else ""


def write(folder: Path) -> list[Path]:
    """Write every page that is out of date; which ones were."""
    old = stale(folder)
    for path in old:
        path.write_text(PAGES[path.name](), "utf-8")
    return old


def main(arguments: list[str]) -> int:
    """`python -m tools.docs.cli_reference FOLDER [--check]`."""
    folder = Path(next(argument for argument in arguments if not argument.startswith("-")))
    check = "--check" in arguments
    pages = stale(folder) if check else write(folder)
    for page in pages:
        print(f"{page} is out of date; cure: make docs" if check else f"wrote {page}")
    return int(check and bool(pages))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
