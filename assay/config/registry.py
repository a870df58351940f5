"""Finds components by name: our own in literal tables, third parties' in entry points, loaded only when named."""

from __future__ import annotations

import dataclasses
import typing
import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.metadata import entry_points
from types import UnionType
from typing import Any, Literal

from assay.errors import ConfigError, RenamedWarning, nearest
from assay.fuse import FUSERS
from assay.legs import LEGS, SOURCES
from assay.rerank import RERANKERS
from assay.score import SCORERS
from assay.select import SELECTORS
from assay.select.context import PACKERS
from assay.triggers import TRIGGERS

Kind = Literal["leg", "source", "fuser", "step", "trigger", "packer"]

TABLES: Mapping[str, Mapping[str, str]] = {
    "leg": LEGS,
    "source": SOURCES,
    "fuser": FUSERS,
    "step": {**RERANKERS, **SCORERS, **SELECTORS},
    "trigger": TRIGGERS,
    "packer": PACKERS,
}
GROUPS: Mapping[str, str] = {
    "leg": "assay.legs",
    "source": "assay.sources",
    "fuser": "assay.fusers",
    "step": "assay.steps",
    "trigger": "assay.triggers",
    "packer": "assay.packers",
}
ALIASES: Mapping[str, Mapping[str, str]] = {"fuser": {"relative_score": "convex"}}
"""Old names that a config may still use: kind → old name → present name. Using one gives a RenamedWarning."""


def component_class(kind: Kind, name: str) -> type[Any]:
    """The class behind a name; our own names win over third parties'."""
    table, name = TABLES[kind], _present_name(kind, name)
    if name in table:
        module, _, attribute = table[name].partition(":")
        return typing.cast(type[Any], getattr(import_module(module), attribute))
    others = {point.name: point for point in entry_points(group=GROUPS[kind])}
    if name in others:
        return typing.cast(type[Any], others[name].load())
    raise ConfigError(
        f"there is no {kind} called {name!r}",
        f"{nearest(name, [*table, *others])}; `assay components` lists them; a plug-in must be installed beside assay",
    )


def _present_name(kind: Kind, name: str) -> str:
    """Resolve an alias, with a warning."""
    present = ALIASES.get(kind, {}).get(name, name)
    if present != name:
        text = f'the {kind} "{name}" is now called "{present}"; write use = "{present}" in the configuration'
        warnings.warn(text, RenamedWarning, stacklevel=2)
    return present


def build_component(
    kind: Kind, name: str, settings: Mapping[str, Any], where: str, other_keys: Sequence[str] = ()
) -> Any:
    """A component from its config. An unknown, missing or ill-typed key is an error that names the place and the
    nearest real key, also among the keys that the pipeline allows (`other_keys`) beside the component's own."""
    cls = component_class(kind, name)
    fields = {f.name: f for f in dataclasses.fields(cls)}
    hints = typing.get_type_hints(cls)
    values: dict[str, Any] = {}
    for key, value in settings.items():
        if key not in fields:
            raise ConfigError(f"{where}: {name!r} has no setting {key!r}", nearest(key, [*fields, *other_keys]))
        values[key] = _fit(value, hints[key], f"{where}.{key}")
    required = dataclasses.MISSING
    lacking = [n for n, f in fields.items() if f.default is required and f.default_factory is required]
    for key in lacking:
        if key not in values:
            raise ConfigError(f"{where}: {name!r} needs the setting {key!r}", f"add {key} = …")
    return cls(**values)


def registered_name(kind: Kind, component: Any) -> str:
    """The name a config uses for a component; a third party's is known by its entry point alone."""
    place = f"{type(component).__module__}:{type(component).__qualname__}"
    for name, where in TABLES[kind].items():
        if where == place:
            return name
    others = (point.name for point in entry_points(group=GROUPS[kind]) if point.value == place)
    return next(others, place)


def is_source(component: Any) -> bool:
    """Does this leg ask an external source?"""
    return bool(getattr(component, "is_source", False))


def settings_of(component: Any) -> dict[str, Any]:
    """The component's whole config, defaults included."""
    return {f.name: _plain(getattr(component, f.name)) for f in dataclasses.fields(component)}


def digested_settings(component: Any) -> dict[str, Any]:
    """The settings that a pipeline's digest covers.

    A class may name in `digest_omits` the values at which a later setting changes nothing, so that pipelines older than
    the setting keep their digests.
    """
    omitted = getattr(type(component), "digest_omits", {})
    unset = object()
    return {name: value for name, value in settings_of(component).items() if omitted.get(name, unset) != value}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in sorted(value.items())}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value


def _fit(value: Any, hint: Any, where: str) -> Any:
    """A TOML value as the type a field declares, or a ConfigError; TOML integers serve as floats."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return value
    if origin is Literal:
        if value in arguments:
            return value
        raise ConfigError(f"{where} = {value!r} is not one of its values", nearest(str(value), map(str, arguments)))
    if origin in (typing.Union, UnionType):
        for option in arguments:
            if option is type(None):
                continue
            try:
                return _fit(value, option, where)
            except ConfigError:
                continue
    elif origin is tuple and isinstance(value, list):
        return tuple(_fit(v, arguments[0], where) for v in value)
    elif isinstance(origin, type) and issubclass(origin, Mapping) and isinstance(value, dict):
        return {k: _fit(v, arguments[1], f"{where}.{k}") for k, v in value.items()}
    elif hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    elif hint in (int, str, bool) and type(value) is hint:
        return value
    wanted = getattr(hint, "__name__", str(hint))
    raise ConfigError(f"{where} = {value!r} should be of type {wanted}", f"got {type(value).__name__}")
