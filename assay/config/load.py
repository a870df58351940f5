"""Reads a pipeline from TOML and writes it back. A config is checked whole: every key is read, or is an error.

k = 10                       # what triggers read, and the default length of an answer
complete = true              # every leg also scores what the other legs found
budget_ms = 1500             # the most that all legs and steps may take together
abstain = true               # no results for a question that is judged impossible
[legs.bm25]                  # the name of the leg; `use` defaults to it
k = 100                      # how many candidates it returns; the other keys: plans.py
[fuse]
use = "rrf"
c = 60
[[step]]                     # rerank, score and select, in the order they run
use = "importance"
[context]                    # pack a context for a prompt, beside the ranking
use = "coverage"
tokens = 400
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any, cast

from assay.config.nested import Nested
from assay.config.plans import (
    as_table,
    check_positive,
    leg_config,
    limits_config,
    read_leg,
    read_milliseconds,
    read_step,
    read_typed,
    take_use,
    trigger_config,
)
from assay.config.preflight import check_scales
from assay.config.registry import (
    Kind,
    build_component,
    component_class,
    digested_settings,
    registered_name,
    settings_of,
)
from assay.engine.context import Packer
from assay.engine.pipeline import LegPlan, Pipeline, StepPlan
from assay.errors import ConfigError, nearest
from assay.fuse.grouped import Grouped
from assay.protocols import Fuser

_TOP = ("name", "about", "k", "complete", "budget_ms", "abstain", "legs", "fuse", "step", "context")
_INSIDE = ("k", "complete", "legs", "fuse", "step")


def preset_names() -> list[str]:
    """The pipelines that ship with us, by name."""
    folder = resources.files("assay.config.presets")
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def read_toml(name_or_path: str) -> str:
    """The TOML text of a preset or a file."""
    if name_or_path in preset_names():
        return resources.files("assay.config.presets").joinpath(f"{name_or_path}.toml").read_text("utf-8")
    path = Path(name_or_path)
    if path.suffix != ".toml" and not path.exists():
        raise ConfigError(f"there is no pipeline called {name_or_path!r}", nearest(name_or_path, preset_names()))
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"pipeline file {path} cannot be read: {reason}", "name a TOML file or a preset") from error


def load(name_or_path: str) -> Pipeline:
    """A pipeline from a preset's name or a TOML file's path."""
    fallback = name_or_path if name_or_path in preset_names() else Path(name_or_path).stem
    return loads(read_toml(name_or_path), fallback)


def loads(text: str, name: str = "pipeline") -> Pipeline:
    """A pipeline from TOML text."""
    try:
        return from_dict(tomllib.loads(text), name)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"pipeline {name!r} is not valid TOML: {error}", "see docs/reference/config.md") from error


def from_dict(config: Mapping[str, Any], name: str = "pipeline") -> Pipeline:
    """A pipeline from its config as plain data; raises ConfigError for anything that cannot work."""
    _check_keys(config, _TOP, "the pipeline")
    pipeline = _read_pipeline(config, read_typed(config, "name", str, name))
    read_typed(config, "about", str, "")
    check_scales(pipeline)
    return with_digest(pipeline)


def from_recorded(config: Mapping[str, Any], name: str = "pipeline") -> Pipeline:
    """Build a pipeline from the whole config (`to_config`) in a receipt or recording.

    A setting that a whole config lacks is younger than the file; the value at which it changes nothing is used, so old
    files replay.
    """
    return from_dict(_add_later_settings(config), name)


def _add_later_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    legs = {}
    for name, leg in as_table(config.get("legs", {}), "legs").items():
        if "legs" in leg:
            legs[name] = _add_later_settings(leg)
        elif "source" in leg:
            legs[name] = leg
        else:
            cls = component_class("leg", leg.get("use", name))
            legs[name] = {**getattr(cls, "digest_omits", {}), **leg}
    return {**config, "legs": legs}


def _read_inner(config: Mapping[str, Any], where: str) -> Pipeline:
    """The pipeline inside a leg. Caps and costs belong to the outer leg: one deadline per leg."""
    _check_keys(config, _INSIDE, where)
    pipeline = _read_pipeline(config, where)
    plans: list[LegPlan | StepPlan] = [*pipeline.legs, *pipeline.steps]
    for plan in plans:
        if limits_config(plan):
            timed = next(iter(limits_config(plan)))
            raise ConfigError(f"{where}: {plan.name} has {timed}, inside a leg", f"give {timed} to {where} itself")
    return pipeline


def _read_pipeline(config: Mapping[str, Any], name: str) -> Pipeline:
    legs = tuple(read_leg(leg, value, _read_inner) for leg, value in as_table(config.get("legs", {}), "legs").items())
    steps = config.get("step", [])
    if not isinstance(steps, list):
        raise ConfigError("step must be a list of tables", "write [[step]], with two brackets")
    for place, plan in enumerate(legs):
        for other in plan.after:
            if other not in [p.name for p in legs[:place]]:
                raise ConfigError(f"legs.{plan.name}.after names {other!r}", "name legs that stand before it")
    return Pipeline(
        name=name,
        legs=legs,
        fuser=None if config.get("fuse") is None else _read_fuser(config["fuse"]),
        steps=tuple(read_step(i, value) for i, value in enumerate(steps)),
        k=check_positive(read_typed(config, "k", int, 10), "k"),
        complete=read_typed(config, "complete", bool, False),
        budget_ms=read_milliseconds(config, "budget_ms", "the pipeline"),
        abstain=read_typed(config, "abstain", bool, False),
        packer=_read_packer(config["context"]) if "context" in config else None,
    )


def _read_packer(config: Any) -> Packer:
    settings = dict(as_table(config, "context"))
    packer: Packer = build_component("packer", take_use(settings, "context"), settings, "context", ("use",))
    return packer


def _read_fuser(config: Any) -> Fuser:
    """A fuser; with `by`, one candidate for each value of that field, or of the first of several that a chunk has."""
    settings = dict(as_table(config, "fuse"))
    by = settings.pop("by", None)
    fuser: Fuser = build_component("fuser", take_use(settings, "fuse"), settings, "fuse", ("use", "by"))
    return fuser if by is None else cast(Fuser, Grouped(fuser, by))  # its class attributes are its inner one's


def to_dict(pipeline: Pipeline) -> dict[str, Any]:
    """The whole config, defaults included, as plain data: what the digest covers (the name is not behaviour).

    Later keys appear only where they are used, so that older pipelines keep their digests.
    """
    return {
        "k": pipeline.k,
        **_complete_key(pipeline),
        "legs": {plan.name: _leg_dict(plan) for plan in pipeline.legs},
        "fuse": None if pipeline.fuser is None else _fuse_dict(pipeline.fuser),
        "steps": [
            {"use": _digest_name("step", plan.step), "settings": digested_settings(plan.step), **limits_config(plan)}
            for plan in pipeline.steps
        ],
        **({} if pipeline.budget_ms is None else {"budget_ms": pipeline.budget_ms}),
        **({"abstain": True} if pipeline.abstain else {}),
        **({} if pipeline.packer is None else {"context": _packer_dict(pipeline.packer)}),
    }


def _packer_dict(packer: Packer) -> dict[str, Any]:
    return {"use": _digest_name("packer", packer), "settings": digested_settings(packer)}


def _leg_dict(plan: LegPlan) -> dict[str, Any]:
    return {
        "use": _digest_name("leg", plan.leg),
        "k": plan.k,
        "priority": plan.priority,
        "when": trigger_config(plan.when, _digest_name),
        "after": list(plan.after),
        "settings": to_dict(plan.leg.pipeline) if isinstance(plan.leg, Nested) else digested_settings(plan.leg),
        **limits_config(plan),
    }


def _fuse_dict(fuser: Fuser) -> dict[str, Any]:
    inner, by = (fuser.inner, {"by": _by_config(fuser)}) if isinstance(fuser, Grouped) else (fuser, {})
    return {"use": _digest_name("fuser", inner), "settings": digested_settings(inner), **by}


def _by_config(fuser: Grouped) -> str | list[str]:
    return list(fuser.by) if isinstance(fuser.by, tuple) else cast(str, fuser.by)


def to_config(pipeline: Pipeline) -> dict[str, Any]:
    """The whole config as `from_dict` takes it: registered names, every setting, what is not set left out."""
    config: dict[str, Any] = {"k": pipeline.k, **_complete_key(pipeline)}
    if pipeline.budget_ms is not None:
        config["budget_ms"] = pipeline.budget_ms
    if pipeline.abstain:
        config["abstain"] = True
    config["legs"] = {plan.name: _drop_unset(leg_config(plan, to_config)) for plan in pipeline.legs}
    fuser = pipeline.fuser
    if fuser is not None:
        inner, by = (fuser.inner, {"by": _by_config(fuser)}) if isinstance(fuser, Grouped) else (fuser, {})
        config["fuse"] = _drop_unset({"use": registered_name("fuser", inner), **by, **settings_of(inner)})
    if pipeline.steps:
        config["step"] = [
            _drop_unset(
                {
                    "use": registered_name("step", plan.step),
                    "name": plan.name,
                    **limits_config(plan),
                    **settings_of(plan.step),
                }
            )
            for plan in pipeline.steps
        ]
    if pipeline.packer is not None:
        config["context"] = {"use": registered_name("packer", pipeline.packer), **settings_of(pipeline.packer)}
    return config


def _complete_key(pipeline: Pipeline) -> dict[str, Any]:
    """Left out where it is not set, so that pipelines older than the key keep their digests."""
    return {"complete": True} if pipeline.complete else {}


def _drop_unset(settings: Mapping[str, Any]) -> dict[str, Any]:
    """TOML has no null: a setting that is not set is left out."""
    return {key: value for key, value in settings.items() if value is not None}


def with_digest(pipeline: Pipeline) -> Pipeline:
    """The pipeline with the digest of its config filled in."""
    canonical = json.dumps(to_dict(pipeline), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return replace(pipeline, digest=hashlib.sha256(canonical.encode()).hexdigest())


def _digest_name(_: Kind, component: Any) -> str:
    """What a digest calls a component: where its class was first defined, so that moving code changes no digest."""
    cls = type(component)
    return getattr(cls, "digest_name", f"{cls.__module__}:{cls.__qualname__}")


def _check_keys(config: Mapping[str, Any], names: tuple[str, ...], where: str) -> None:
    for key in config:
        if key not in names:
            raise ConfigError(f"{where} has no setting {key!r}", nearest(key, names))
