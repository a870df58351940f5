"""TOML ⇄ pipeline. A config is checked whole when it is read: every key is read by something or is an error.

k = 10                       # what triggers read, and the default length of an answer
complete = true              # every leg also scores what the other legs found
[legs.bm25]                  # the name of the leg; `use` defaults to it
k = 100                      # how deep the leg looks; also: priority, when, after
[fuse]
use = "rrf"
c = 60
[[step]]                     # rerank, score and select, in the order they run
use = "importance"
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from assay.errors import ConfigError, nearest
from assay.pipeline import LegPlan, Pipeline, StepPlan
from assay.preflight import check_scales
from assay.registry import build, settings_of, short_name

T = TypeVar("T")

_TOP = ("name", "about", "k", "complete", "legs", "fuse", "step")
_LEG = ("use", "k", "priority", "when", "after")


def presets() -> list[str]:
    """The pipelines that ship with us, by name."""
    folder = resources.files("assay.presets")
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def source(name_or_path: str) -> str:
    """The TOML text of a preset or a file."""
    if name_or_path in presets():
        return resources.files("assay.presets").joinpath(f"{name_or_path}.toml").read_text("utf-8")
    path = Path(name_or_path)
    if path.suffix != ".toml" and not path.exists():
        raise ConfigError(f"there is no pipeline called {name_or_path!r}", nearest(name_or_path, presets()))
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"pipeline file {path} cannot be read: {error}", "name a TOML file or a preset") from error


def load(name_or_path: str) -> Pipeline:
    """A pipeline from a preset's name or a TOML file's path."""
    fallback = name_or_path if name_or_path in presets() else Path(name_or_path).stem
    return loads(source(name_or_path), fallback)


def loads(text: str, name: str = "pipeline") -> Pipeline:
    """A pipeline from TOML text."""
    try:
        return from_dict(tomllib.loads(text), name)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"pipeline {name!r} is not valid TOML: {error}", "see docs/reference/config.md") from error


def from_dict(config: Mapping[str, Any], name: str = "pipeline") -> Pipeline:
    """A pipeline from its config as plain data; raises ConfigError for anything that cannot work."""
    _known(config, _TOP, "the pipeline")
    legs = tuple(_leg(leg, given) for leg, given in _table(config.get("legs", {}), "legs").items())
    fuse = config.get("fuse")
    fuser = None
    if fuse is not None:
        fuse = dict(_table(fuse, "fuse"))
        fuser = build("fuser", _use(fuse, "fuse"), fuse, "fuse")
    steps = config.get("step", [])
    if not isinstance(steps, list):
        raise ConfigError("step must be a list of tables", "write [[step]], with two brackets")
    pipeline = Pipeline(
        name=_typed(config, "name", str, name),
        legs=legs,
        fuser=fuser,
        steps=tuple(_step(i, given) for i, given in enumerate(steps)),
        k=_positive(_typed(config, "k", int, 10), "k"),
        complete=_typed(config, "complete", bool, False),
    )
    if pipeline.complete and fuser is None:
        raise ConfigError("complete = true has no effect without [fuse]", "add a fuser, or drop it")
    _typed(config, "about", str, "")
    for plan in legs:
        for other in plan.after:
            if other not in [p.name for p in legs[: legs.index(plan)]]:
                raise ConfigError(f"legs.{plan.name}.after names {other!r}", "name legs that stand before it")
    check_scales(pipeline)
    return with_digest(pipeline)


def to_dict(pipeline: Pipeline) -> dict[str, Any]:
    """The whole config, defaults included, as plain data; what the digest covers (the name is not behaviour)."""
    return {
        "k": pipeline.k,
        **_told(pipeline),
        "legs": {
            plan.name: {
                "use": _name_of(plan.leg),
                "k": plan.k,
                "priority": plan.priority,
                "when": None if plan.when is None else {"use": _name_of(plan.when), **settings_of(plan.when)},
                "after": list(plan.after),
                "settings": settings_of(plan.leg),
            }
            for plan in pipeline.legs
        },
        "fuse": None
        if pipeline.fuser is None
        else {"use": _name_of(pipeline.fuser), "settings": settings_of(pipeline.fuser)},
        "steps": [{"use": _name_of(plan.step), "settings": settings_of(plan.step)} for plan in pipeline.steps],
    }


def to_config(pipeline: Pipeline) -> dict[str, Any]:
    """The whole config as `from_dict` takes it: registered names, every setting, what is not set left out."""
    legs = {}
    for plan in pipeline.legs:
        when = plan.when and {"use": short_name("trigger", plan.when), **settings_of(plan.when)}
        placed = {"k": plan.k, "priority": plan.priority, "when": when, "after": list(plan.after)}
        legs[plan.name] = _said({"use": short_name("leg", plan.leg), **placed, **settings_of(plan.leg)})
    config: dict[str, Any] = {"k": pipeline.k, **_told(pipeline), "legs": legs}
    if pipeline.fuser is not None:
        config["fuse"] = _said({"use": short_name("fuser", pipeline.fuser), **settings_of(pipeline.fuser)})
    if pipeline.steps:
        config["step"] = [
            _said({"use": short_name("step", plan.step), "name": plan.name, **settings_of(plan.step)})
            for plan in pipeline.steps
        ]
    return config


def _told(pipeline: Pipeline) -> dict[str, Any]:
    """Left out where it is not set, so that pipelines from before it keep their digests."""
    return {"complete": True} if pipeline.complete else {}


def _said(table: Mapping[str, Any]) -> dict[str, Any]:
    """TOML has no null: a setting that is not set is left out."""
    return {key: value for key, value in table.items() if value is not None}


def with_digest(pipeline: Pipeline) -> Pipeline:
    """The pipeline with the digest of its config filled in."""
    canonical = json.dumps(to_dict(pipeline), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return Pipeline(
        pipeline.name,
        pipeline.legs,
        pipeline.fuser,
        pipeline.steps,
        pipeline.k,
        pipeline.complete,
        hashlib.sha256(canonical.encode()).hexdigest(),
    )


def _name_of(component: Any) -> str:
    cls = type(component)
    return f"{cls.__module__}:{cls.__qualname__}"


def _leg(name: str, given: Any) -> LegPlan:
    settings = dict(_table(given, f"legs.{name}"))
    plan = {key: settings.pop(key) for key in _LEG if key in settings}
    where = f"legs.{name}"
    trigger = plan.get("when")
    if trigger is not None:
        trigger = dict(_table(trigger, f"{where}.when"))
        trigger = build("trigger", _use(trigger, f"{where}.when"), trigger, f"{where}.when")
    after = plan.get("after", [])
    if not isinstance(after, list) or not all(isinstance(a, str) for a in after):
        raise ConfigError(f"{where}.after must be a list of leg names", 'after = ["bm25"]')
    return LegPlan(
        name=name,
        leg=build("leg", _typed(plan, "use", str, name), settings, where),
        k=_positive(_typed(plan, "k", int, 100), f"{where}.k"),
        priority=_typed(plan, "priority", int, 0),
        when=trigger,
        after=tuple(after),
    )


def _step(index: int, given: Any) -> StepPlan:
    where = f"step {index + 1}"
    settings = dict(_table(given, where))
    use = _use(settings, where)
    name = settings.pop("name", use)
    return StepPlan(str(name), build("step", use, settings, where))


def _use(settings: dict[str, Any], where: str) -> str:
    use = settings.pop("use", None)
    if not isinstance(use, str):
        raise ConfigError(f"{where} does not say what it uses", 'add use = "…"')
    return use


def _table(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{where} must be a table", f"write [{where}]")
    return value


def _typed(config: Mapping[str, Any], key: str, kind: type[T], default: T) -> T:
    value = config.get(key, default)
    if type(value) is not kind:
        raise ConfigError(f"{key} = {value!r} should be of type {kind.__name__}", f"got {type(value).__name__}")
    return value


def _positive(value: int, where: str) -> int:
    if value < 1:
        raise ConfigError(f"{where} = {value} is below 1", "give a whole number from 1")
    return value


def _known(config: Mapping[str, Any], names: tuple[str, ...], where: str) -> None:
    for key in config:
        if key not in names:
            raise ConfigError(f"{where} has no setting {key!r}", nearest(key, names))
