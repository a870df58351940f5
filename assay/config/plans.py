"""Reads and writes the legs, triggers and steps of a pipeline's config. `load.py` puts them together.

[legs.second]
source = { use = "lance_table", path = "memories", table = "chunks" }  # an external source; else e.g. use = "dense"
k = 20                                       # how many candidates it returns
priority = 1                                 # the lower number wins a tie
when = { use = "fewer_than", count = 3 }     # a trigger; without one the leg always runs
after = ["first"]                            # legs before it whose rankings it may see
cap_ms = 600                                 # the most it may take
cost_ms = 40                                 # what it is expected to take, until measured costs replace it
required = true                              # a failure fails the query; else the leg is skipped, on the trace

A leg with `legs` of its own is a pipeline of its own: [legs.first.legs.bm25], [legs.first.fuse], [[legs.first.step]].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from assay.config.nested import Nested
from assay.config.registry import Kind, build_component, component_class, is_source, registered_name, settings_of
from assay.engine.checks import check_number
from assay.engine.pipeline import LegPlan, Pipeline, StepPlan
from assay.errors import ConfigError
from assay.protocols import Trigger

T = TypeVar("T")

_LEG = ("use", "source", "k", "priority", "when", "after", "cap_ms", "cost_ms", "required")
_STEP = ("use", "name", "cap_ms", "cost_ms")
_INNER = ("complete", "legs", "fuse", "step")
_COMBINED = ("any_of", "all_of")
Inner = Callable[[Mapping[str, Any], str], Pipeline]
Named = Callable[[Kind, Any], str]
"""Names a component: by its registered name for people, by its class for digests."""


def read_leg(name: str, config: Any, inner: Inner) -> LegPlan:
    """A leg of the config; `inner` reads a pipeline inside it."""
    where = f"legs.{name}"
    settings = dict(as_table(config, where))
    plan = {key: settings.pop(key) for key in _LEG if key in settings}
    nested = {key: settings.pop(key) for key in _INNER if key in settings} if "legs" in settings else {}
    ways = [key for key in ("use", "source") if key in plan] + (["legs"] if nested else [])
    if len(ways) > 1:
        raise ConfigError(f"{where} has both {ways[0]!r} and {ways[1]!r}", "a leg looks in one place: keep one of them")
    k = check_positive(read_typed(plan, "k", int, 100, where), f"{where}.k")
    after = plan.get("after", [])
    if not isinstance(after, list) or not all(isinstance(a, str) for a in after):
        raise ConfigError(f"{where}.after must be a list of leg names", 'after = ["bm25"]')
    leg: Any
    if nested:
        leg = Nested(inner({"k": k, **nested, **settings}, where))
    elif "source" in plan:
        source = {**as_table(plan["source"], f"{where}.source"), **settings}
        leg = build_component("source", take_use(source, f"{where}.source"), source, f"{where}.source")
    else:
        leg = build_component("leg", read_typed(plan, "use", str, name, where), settings, where, _LEG)
    return LegPlan(
        name=name,
        leg=leg,
        k=k,
        priority=read_typed(plan, "priority", int, 0, where),
        when=read_trigger(plan["when"], f"{where}.when") if "when" in plan else None,
        after=tuple(after),
        cap_ms=read_milliseconds(plan, "cap_ms", where),
        cost_ms=read_milliseconds(plan, "cost_ms", where),
        required=read_typed(plan, "required", bool, False, where),
    )


def read_trigger(config: Any, where: str) -> Trigger:
    """A trigger, or one of several."""
    settings = dict(as_table(config, where))
    use = take_use(settings, where)
    if use not in _COMBINED:
        found: Trigger = build_component("trigger", use, settings, where)
        return found
    of = settings.pop("of", [])
    if settings or not isinstance(of, list):
        raise ConfigError(f"{where}: {use!r} takes one setting, of", 'of = [{ use = "fewer_than" }, …]')
    members = tuple(read_trigger(one, f"{where}.of[{place}]") for place, one in enumerate(of))
    combined: Trigger = component_class("trigger", use)(of=members)
    return combined


def read_step(index: int, config: Any) -> StepPlan:
    where = f"step {index + 1}"
    settings = dict(as_table(config, where))
    use = take_use(settings, where)
    name = read_typed(settings, "name", str, use, where)
    if not name.strip():
        raise ConfigError(f"{where}.name is empty", "give it a name for the trace, or leave it out")
    cap, cost = (read_milliseconds(settings, key, where) for key in ("cap_ms", "cost_ms"))
    own = {key: value for key, value in settings.items() if key not in _STEP}
    return StepPlan(name, build_component("step", use, own, where, _STEP), cap, cost)


# -- writing


def limits_config(plan: LegPlan | StepPlan) -> dict[str, Any]:
    """The plan's limits: cap, expected cost, required. Those that are not set are left out."""
    limits: dict[str, Any] = {"cap_ms": plan.cap_ms, "cost_ms": plan.cost_ms}
    if isinstance(plan, LegPlan) and plan.required:
        limits["required"] = True
    return {key: value for key, value in limits.items() if value is not None}


def trigger_config(found: Trigger | None, named: Named) -> dict[str, Any] | None:
    if found is None:
        return None
    members = getattr(found, "of", None)
    own = settings_of(found) if members is None else {"of": [trigger_config(one, named) for one in members]}
    return {"use": named("trigger", found), **own}


def leg_config(plan: LegPlan, inner: Callable[[Pipeline], dict[str, Any]]) -> dict[str, Any]:
    """A leg as `read_leg` takes it, under registered names."""
    when = trigger_config(plan.when, registered_name)
    placed = {"k": plan.k, "priority": plan.priority, "when": when, "after": list(plan.after), **limits_config(plan)}
    if isinstance(plan.leg, Nested):
        return {**placed, **{key: value for key, value in inner(plan.leg.pipeline).items() if key in _INNER}}
    if is_source(plan.leg):
        own = {key: value for key, value in settings_of(plan.leg).items() if value is not None}
        return {"source": {"use": registered_name("source", plan.leg), **own}, **placed}
    return {"use": registered_name("leg", plan.leg), **placed, **settings_of(plan.leg)}


# -- reading plain data


def take_use(settings: dict[str, Any], where: str) -> str:
    use = settings.pop("use", None)
    if not isinstance(use, str):
        raise ConfigError(f"{where} does not say what it uses", 'add use = "…"')
    return use


def as_table(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{where} must be a table", f"write [{where}]")
    return value


def read_typed(config: Mapping[str, Any], key: str, kind: type[T], default: T, where: str = "") -> T:
    value = config.get(key, default)
    if type(value) is not kind:
        place = f"{where}.{key}" if where else key
        raise ConfigError(f"{place} = {value!r} should be of type {kind.__name__}", f"got {type(value).__name__}")
    return value


def check_positive(value: int, where: str) -> int:
    if value < 1:
        raise ConfigError(f"{where} = {value} is below 1", "give a whole number from 1")
    return value


def read_milliseconds(config: Mapping[str, Any], key: str, where: str) -> float | None:
    """A time above 0; to leave a leg out, drop it: a cap of 0 would look like one that is always skipped."""
    value = config.get(key)
    if value is None:
        return None
    check_number(f"{where}.{key}", value, 0.001)
    return float(value)
