"""The axes of a sweep, such as `fuse.c=10..100`, and their application to a pipeline's config.

    a..b          five values from a to b, evenly spaced           a..b/7        seven of them
    a..b*log      evenly spaced ratios                             a,b,c         these values

A key is a path into the pipeline's TOML: k, legs.bm25.k, fuse.c, fuse.weights.dense, step.importance.weight or
step.1.weight. Settings that are not written in the file can be varied too. Numbers have six significant digits; for an
integer setting they are rounded, and duplicates are dropped.
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

DEFAULT_STEPS = 5
MAX_CELLS = 2_000
"""The largest number of cells of a sweep."""
_LEG_KEYS = ("use", "k", "priority", "when", "after")
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_RANGE = re.compile(rf"({_NUMBER})\.\.({_NUMBER})(?:/(\d+))?(\*log)?", re.ASCII)

Value = int | float | bool | str
Settings = tuple[tuple[str, Value], ...]
"""The settings of a cell: key and value, in the order of the axes."""


@dataclass(frozen=True, slots=True)
class SweepAxis:
    """A setting and the values it takes."""

    key: str
    values: tuple[Value, ...]


def parse_axis(argument: str) -> SweepAxis:
    """Parse `key=values` into an axis."""
    key, mark, values = (part.strip() for part in argument.partition("="))
    if not mark or not key or not values:
        raise ConfigError(f"--vary {argument!r} names no key or no values", "write --vary fuse.c=10..100")
    found = _RANGE.fullmatch(values)
    if found is not None:
        return SweepAxis(
            key,
            _space_values(argument, float(found[1]), float(found[2]), int(found[3] or DEFAULT_STEPS), bool(found[4])),
        )
    if ".." in values:
        raise ConfigError(f"--vary {argument!r}: {values!r} is no range", "write a..b, a..b/7 or a..b*log")
    literals = [_parse_literal(value.strip()) for value in values.split(",")]
    if "" in literals:
        raise ConfigError(f"--vary {argument!r} has an empty value", "write a,b,c")
    return SweepAxis(key, tuple(dict.fromkeys(literals)))


def _space_values(argument: str, first: float, last: float, steps: int, log: bool) -> tuple[Value, ...]:
    if not 2 <= steps <= MAX_CELLS:
        raise ConfigError(
            f"--vary {argument!r} asks for {steps} steps", f"give 2 to {MAX_CELLS}, or one value: key=value"
        )
    if log and min(first, last) <= 0.0:
        raise ConfigError(f"--vary {argument!r}: ratios need numbers above 0", "drop *log, or start above 0")
    values = np.geomspace(first, last, steps) if log else np.linspace(first, last, steps)
    return tuple(dict.fromkeys(float(f"{value:.6g}") for value in values.tolist()))


def _parse_literal(text: str) -> Value:
    if re.fullmatch(_NUMBER, text, re.ASCII):
        return int(text) if re.fullmatch(r"[-+]?\d+", text, re.ASCII) else float(text)
    return {"true": True, "false": False}.get(text, text)


def parse_axes(arguments: Iterable[str], config: Mapping[str, Any]) -> tuple[SweepAxis, ...]:
    """Parse axes and check them against a pipeline's config: every key exists and occurs once."""
    found = tuple(_fit_axis(parse_axis(text), config) for text in arguments)
    keys = [one.key for one in found]
    for key in keys:
        if keys.count(key) > 1:
            raise ConfigError(f"{key!r} is varied twice", "name each key once, with all its values")
    count = int(np.prod([len(one.values) for one in found], dtype=np.float64))
    if count > MAX_CELLS:
        raise ConfigError(f"the axes make {count:,} cells", f"take fewer values: {MAX_CELLS:,} cells at most")
    return found


def _fit_axis(one: SweepAxis, config: Mapping[str, Any]) -> SweepAxis:
    """Round the values of an integer setting."""
    table, key = _locate(copy.deepcopy(dict(config)), one.key)
    if type(table.get(key)) is not int:
        return one
    whole = [round(value) if isinstance(value, float) else value for value in one.values]
    return SweepAxis(one.key, tuple(dict.fromkeys(whole)))


def combine_axes(found: Sequence[SweepAxis]) -> list[Settings]:
    """Every combination, the last axis fastest."""
    keys = [one.key for one in found]
    return [tuple(zip(keys, values, strict=True)) for values in product(*(one.values for one in found))]


def apply_settings(config: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    """Return the config with these settings. Another `use` drops the settings that its component lacks."""
    result: dict[str, Any] = copy.deepcopy(dict(config))
    for key, value in sorted(settings, key=lambda setting: not setting[0].endswith(".use")):
        table, last = _locate(result, key)
        table[last] = value
        if last == "use":
            _drop_unknown(table, _kind(key), str(value))
    return result


def format_settings(settings: Settings) -> str:
    """Format settings for people: `fuse.c = 10, fuse.weights.dense = 0.2`."""
    return ", ".join(f"{key} = {format_value(value)}" for key, value in settings)


def format_value(value: Value) -> str:
    """Format a value for people: 10 rather than 10.0, true rather than True."""
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)


def _drop_unknown(table: dict[str, Any], kind: Kind, use: str) -> None:
    known = {*_fields(kind, use), *_LEG_KEYS, "name"}
    for key in [key for key in table if key not in known]:
        del table[key]


# -- a dotted path into a config


def _locate(config: dict[str, Any], path: str) -> tuple[dict[str, Any], str]:
    """Find the table with a setting, and the setting's key in it."""
    head, *rest = path.split(".")
    if not rest:
        return _check_known(config, head, ["k"], path)
    if head == "legs" and len(rest) > 1:
        name, *inside = rest
        _check_known(config.get("legs", {}), name, config.get("legs", {}), path)
        table = config["legs"][name]
        return _locate_setting(table, inside, [*_LEG_KEYS, *_fields("leg", table["use"])], config, path)
    if head == "fuse":
        if "fuse" not in config:
            raise ConfigError(f"there is no [fuse] to vary {path!r} in", "start from a pipeline that fuses: --base rrf")
        return _locate_setting(config["fuse"], rest, ["use", *_fields("fuser", config["fuse"]["use"])], config, path)
    if head == "context":
        if "context" not in config:
            raise ConfigError(f"there is no [context] to vary {path!r} in", "start from a pipeline that packs one")
        packer = config["context"]
        return _locate_setting(packer, rest, ["use", *_fields("packer", packer["use"])], config, path)
    if head == "step" and len(rest) > 1:
        table = _find_step(config.get("step", []), rest[0], path)
        return _locate_setting(table, rest[1:], ["use", *_fields("step", table["use"])], config, path)
    raise ConfigError(f"there is no setting {path!r}", "a key starts with k, legs.NAME, fuse, step.NAME or context")


def _locate_setting(
    table: dict[str, Any], path: list[str], known: Sequence[str], config: dict[str, Any], whole: str
) -> tuple[dict[str, Any], str]:
    """Find a setting of a component, or an entry of a setting that is itself a table, such as weights."""
    _check_known(table, path[0], known, whole)
    if len(path) == 1:
        return table, path[0]
    inner = table.setdefault(path[0], {})
    if not isinstance(inner, dict) or len(path) > 2:
        raise ConfigError(f"{whole!r} goes deeper than the setting {path[0]!r}", f"vary {path[0]} itself")
    return _check_known(inner, path[1], {*inner, *config.get("legs", {})}, whole)


def _check_known(table: dict[str, Any], key: str, known: Iterable[str], path: str) -> tuple[dict[str, Any], str]:
    names = list(known)
    if key not in names:
        raise ConfigError(f"there is no setting {path!r}: {key!r} is not known", nearest(key, names))
    return table, key


def _find_step(steps: Sequence[dict[str, Any]], name: str, path: str) -> dict[str, Any]:
    """Find a step by its name, or by its position from 1."""
    if name.isascii() and name.isdigit() and 1 <= int(name) <= len(steps):
        return steps[int(name) - 1]
    matches = [step for step in steps if step.get("name", step["use"]) == name]
    if len(matches) > 1:
        raise ConfigError(f"{path!r}: {len(matches)} steps are called {name!r}", "name it by its place: step.1, step.2")
    if not matches:
        names = [str(step.get("name", step["use"])) for step in steps]
        raise ConfigError(f"there is no step {name!r} to vary {path!r} in", nearest(name, names))
    return matches[0]


def _kind(path: str) -> Kind:
    kinds: Mapping[str, Kind] = {"legs": "leg", "fuse": "fuser", "step": "step", "context": "packer"}
    return kinds[path.partition(".")[0]]


def _fields(kind: Kind, use: str) -> list[str]:
    return [field.name for field in dataclasses.fields(component_class(kind, use))]
