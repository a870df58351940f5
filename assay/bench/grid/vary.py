"""What a sweep varies: axes such as `fuse.c=10..100`, and a pipeline's config with one setting changed.

    a..b          five values from a to b, evenly spaced           a..b/7        seven of them
    a..b*log      evenly spaced ratios                             a,b,c         these values

A key is a path into the pipeline's TOML: k, legs.bm25.k, fuse.c, fuse.weights.dense, step.importance.weight or
step.1.weight. Settings that stand at their default can be varied too. Numbers have six significant digits; for a
setting that is a whole number they are rounded, and equal values are one.
"""

from __future__ import annotations

import copy
import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from assay.config.registry import Kind, component_class
from assay.errors import ConfigError, nearest

STEPS = 5
MOST = 2_000
"""Cells of a sweep; more is a mistake, or a job for several sweeps."""
_PLAN = ("use", "k", "priority", "when", "after")
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_RANGE = re.compile(rf"({_NUMBER})\.\.({_NUMBER})(?:/(\d+))?(\*log)?", re.ASCII)

Value = int | float | bool | str
Settings = tuple[tuple[str, Value], ...]
"""What a cell changes: key and value, in the order of the axes."""


@dataclass(frozen=True, slots=True)
class SweepAxis:
    """A setting and the values it takes."""

    key: str
    values: tuple[Value, ...]


def axis(said: str) -> SweepAxis:
    """`key=values` as an axis."""
    key, mark, values = (part.strip() for part in said.partition("="))
    if not mark or not key or not values:
        raise ConfigError(f"--vary {said!r} names no key or no values", "write --vary fuse.c=10..100")
    found = _RANGE.fullmatch(values)
    if found is not None:
        return SweepAxis(key, _spaced(said, float(found[1]), float(found[2]), int(found[3] or STEPS), bool(found[4])))
    if ".." in values:
        raise ConfigError(f"--vary {said!r}: {values!r} is no range", "write a..b, a..b/7 or a..b*log")
    listed = [_literal(value.strip()) for value in values.split(",")]
    if "" in listed:
        raise ConfigError(f"--vary {said!r} has an empty value", "write a,b,c")
    return SweepAxis(key, tuple(dict.fromkeys(listed)))


def _spaced(said: str, first: float, last: float, steps: int, log: bool) -> tuple[Value, ...]:
    if not 2 <= steps <= MOST:
        raise ConfigError(f"--vary {said!r} asks for {steps} steps", f"give 2 to {MOST}, or one value: key=value")
    if log and min(first, last) <= 0.0:
        raise ConfigError(f"--vary {said!r}: ratios need numbers above 0", "drop *log, or start above 0")
    values = np.geomspace(first, last, steps) if log else np.linspace(first, last, steps)
    return tuple(dict.fromkeys(float(f"{value:.6g}") for value in values.tolist()))


def _literal(said: str) -> Value:
    if re.fullmatch(_NUMBER, said, re.ASCII):
        return int(said) if re.fullmatch(r"[-+]?\d+", said, re.ASCII) else float(said)
    return {"true": True, "false": False}.get(said, said)


def axes(said: Iterable[str], config: Mapping[str, Any]) -> tuple[SweepAxis, ...]:
    """Axes that fit a pipeline's config: every key exists, and none stands twice."""
    found = tuple(_fitted(axis(text), config) for text in said)
    keys = [one.key for one in found]
    for key in keys:
        if keys.count(key) > 1:
            raise ConfigError(f"{key!r} is varied twice", "name each key once, with all its values")
    count = int(np.prod([len(one.values) for one in found], dtype=np.float64))
    if count > MOST:
        raise ConfigError(f"the axes make {count:,} cells", f"take fewer values: {MOST:,} cells at most")
    return found


def _fitted(one: SweepAxis, config: Mapping[str, Any]) -> SweepAxis:
    """Whole numbers where the setting is one."""
    table, key = _place(copy.deepcopy(dict(config)), one.key)
    if type(table.get(key)) is not int:
        return one
    whole = [round(value) if isinstance(value, float) else value for value in one.values]
    return SweepAxis(one.key, tuple(dict.fromkeys(whole)))


def cells(found: Sequence[SweepAxis]) -> list[Settings]:
    """Every combination, the last axis fastest."""
    keys = [one.key for one in found]
    return [tuple(zip(keys, values, strict=True)) for values in product(*(one.values for one in found))]


def changed(config: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    """The config with these settings. Another `use` keeps only the settings its component has."""
    made: dict[str, Any] = copy.deepcopy(dict(config))
    for key, value in sorted(settings, key=lambda setting: not setting[0].endswith(".use")):
        table, last = _place(made, key)
        table[last] = value
        if last == "use":
            _keep_known(table, _kind(key), str(value))
    return made


def text(settings: Settings) -> str:
    """For people: `fuse.c = 10, fuse.weights.dense = 0.2`."""
    return ", ".join(f"{key} = {shown(value)}" for key, value in settings)


def shown(value: Value) -> str:
    """A value for people: 10 rather than 10.0, true rather than True."""
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)


def _keep_known(table: dict[str, Any], kind: Kind, use: str) -> None:
    known = {*_fields(kind, use), *_PLAN, "name"}
    for key in [key for key in table if key not in known]:
        del table[key]


# -- a dotted path into a config


def _place(config: dict[str, Any], path: str) -> tuple[dict[str, Any], str]:
    """The table that holds a setting, and the setting's key in it."""
    head, *rest = path.split(".")
    if not rest:
        return _known(config, head, ["k"], path)
    if head == "legs" and len(rest) > 1:
        name, *inside = rest
        _known(config.get("legs", {}), name, config.get("legs", {}), path)
        table = config["legs"][name]
        return _setting(table, inside, [*_PLAN, *_fields("leg", table["use"])], config, path)
    if head == "fuse":
        if "fuse" not in config:
            raise ConfigError(f"there is no [fuse] to vary {path!r} in", "start from a pipeline that fuses: --base rrf")
        return _setting(config["fuse"], rest, ["use", *_fields("fuser", config["fuse"]["use"])], config, path)
    if head == "step" and len(rest) > 1:
        table = _step(config.get("step", []), rest[0], path)
        return _setting(table, rest[1:], ["use", *_fields("step", table["use"])], config, path)
    raise ConfigError(f"there is no setting {path!r}", "a key starts with k, legs.NAME, fuse or step.NAME")


def _setting(
    table: dict[str, Any], path: list[str], known: Sequence[str], config: dict[str, Any], whole: str
) -> tuple[dict[str, Any], str]:
    """A setting of a component; below one that is a table itself, such as weights, an entry for a leg."""
    _known(table, path[0], known, whole)
    if len(path) == 1:
        return table, path[0]
    inner = table.setdefault(path[0], {})
    if not isinstance(inner, dict) or len(path) > 2:
        raise ConfigError(f"{whole!r} goes deeper than the setting {path[0]!r}", f"vary {path[0]} itself")
    return _known(inner, path[1], {*inner, *config.get("legs", {})}, whole)


def _known(table: dict[str, Any], key: str, known: Iterable[str], path: str) -> tuple[dict[str, Any], str]:
    names = list(known)
    if key not in names:
        raise ConfigError(f"there is no setting {path!r}: {key!r} is not known", nearest(key, names))
    return table, key


def _step(steps: Sequence[dict[str, Any]], said: str, path: str) -> dict[str, Any]:
    """A step by its name, or by its place from 1."""
    if said.isascii() and said.isdigit() and 1 <= int(said) <= len(steps):
        return steps[int(said) - 1]
    named = [step for step in steps if step.get("name", step["use"]) == said]
    if len(named) > 1:
        raise ConfigError(f"{path!r}: {len(named)} steps are called {said!r}", "name it by its place: step.1, step.2")
    if not named:
        names = [str(step.get("name", step["use"])) for step in steps]
        raise ConfigError(f"there is no step {said!r} to vary {path!r} in", nearest(said, names))
    return named[0]


def _kind(path: str) -> Kind:
    kinds: Mapping[str, Kind] = {"legs": "leg", "fuse": "fuser", "step": "step"}
    return kinds[path.partition(".")[0]]


def _fields(kind: Kind, use: str) -> list[str]:
    return [field.name for field in dataclasses.fields(component_class(kind, use))]
