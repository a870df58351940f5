"""Reads the fields at the head of a text: YAML between `---` lines, or TOML between `+++` lines.

YAML is read by the core rules of YAML 1.2: only true and false are truth values (`no` is Norwegian), 12:30 is
text, dates stay text until `dates.parse_moment` reads them. Anchors and deep nesting are refused. Front matter that
cannot be read costs a note, not the page: its lines then stand at the head of the text, so no word is lost.
"""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, ClassVar, NamedTuple

MOST_CHARACTERS = 1 << 16
DEEPEST = 20

_CLOSERS = {"---": ("---", "..."), "+++": ("+++",)}
_KEY = re.compile(r"""["']?[\w.-]+["']?\s*[:=]""")


class FrontMatter(NamedTuple):
    """The fields at the head of a text, the lines of the text below them, and what could not be read."""

    fields: dict[Any, Any]
    lines: Iterator[str]
    notes: tuple[str, ...] = ()


class _Unreadable(Exception):
    """Front matter that cannot be read; the message names the line."""


def split_front_matter(lines: Iterator[str]) -> FrontMatter:
    """Read the front matter of a text, if it has any.

    A `---` that is never closed, or that encloses no fields, is a rule in the text.
    """
    first = next(lines, None)
    if first is None:
        return FrontMatter({}, iter(()))
    opener = first.removeprefix("\ufeff").rstrip()
    if opener not in _CLOSERS:
        return FrontMatter({}, itertools.chain((first,), lines))
    block: list[str] = []
    size = 0
    for line in lines:
        if line.rstrip() in _CLOSERS[opener]:
            try:
                fields = _yaml_fields(block) if opener == "---" else _toml_fields(block)
            except _Unreadable as error:  # without its rules: a rule below a line would make that line a heading
                return FrontMatter({}, itertools.chain((*block, ""), lines), (str(error),))
            if fields is not None:
                return FrontMatter(fields, lines)
            return FrontMatter({}, itertools.chain((first, *block, line), lines))
        block.append(line)
        size += len(line)
        if size > MOST_CHARACTERS:
            break
    if block and _KEY.match(block[0]):
        note = f"front matter opens with {opener} in line 1 and never closes; add a line {opener}"
        return FrontMatter({}, itertools.chain(block, lines), (note,))
    return FrontMatter({}, itertools.chain((first, *block), lines))


def _toml_fields(block: list[str]) -> dict[str, Any]:
    try:
        return tomllib.loads("\n".join(block))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        # The parser counts lines within the front matter; this message counts them in the file.
        match = re.search(r"line (\d+)", str(error))
        line = int(match[1]) + 1 if match else 1
        raise _Unreadable(f"front matter is not TOML, line {line}: {error}") from error


def _yaml_fields(block: list[str]) -> dict[Any, Any] | None:
    """Return the mapping between the lines; an empty one for nothing, None for something that is no mapping."""
    import yaml

    text = "\n".join(block)
    try:
        _check_shape(text)
        value = yaml.load(text, Loader=_loader())
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 2 if mark else 1
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise _Unreadable(f"front matter is not YAML, line {line}: {problem}") from error
    if value is None:
        return {}
    return dict(value) if isinstance(value, Mapping) else None


def _check_shape(text: str) -> None:
    """Refuse what could exhaust the stack or the memory: the loader itself recurses without a limit."""
    import yaml

    depth = 0
    for event in yaml.parse(text, Loader=_loader()):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > DEEPEST or isinstance(event, yaml.AliasEvent):
            what = "an alias (*name)" if depth <= DEEPEST else f"more than {DEEPEST} levels"
            line = event.start_mark.line + 2
            raise _Unreadable(f"front matter holds {what}, line {line}")


@cache
def _loader() -> Any:
    """Return a safe loader with the scalar rules of YAML 1.2's core schema."""
    import yaml

    class CoreLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}

    rules = (
        ("null", r"^(?:null|Null|NULL|~|)$", [*"nN~", ""]),
        ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", [*"tTfF"]),
        ("int", r"^[-+]?(?:0|[1-9][0-9]{0,17})$", [*"-+0123456789"]),
        ("float", r"^[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+][0-9]+)?$", [*"-+.0123456789"]),
    )
    for kind, pattern, first in rules:
        CoreLoader.add_implicit_resolver(f"tag:yaml.org,2002:{kind}", re.compile(pattern), first)
    return CoreLoader
