"""A pipeline written out whole: every setting, defaults included, as TOML that reads back to the same digest."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from assay.config import to_dict
from assay.pipeline import Pipeline
from assay.registry import TABLES

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def resolved_toml(pipeline: Pipeline) -> str:
    """The whole config of a pipeline."""
    config = to_dict(pipeline)
    lines = [f"name = {_value(pipeline.name)}", f"k = {pipeline.k}"]
    for name, leg in config["legs"].items():
        lines += ["", f"[legs.{_key(name)}]"]
        when = leg["when"] and {**leg["when"], "use": _short("trigger", leg["when"]["use"])}
        plan = {"use": _short("leg", leg["use"]), "k": leg["k"], "priority": leg["priority"], "when": when}
        lines += _settings({**plan, "after": leg["after"], **leg["settings"]})
    if config["fuse"] is not None:
        lines += ["", "[fuse]"]
        lines += _settings({"use": _short("fuser", config["fuse"]["use"]), **config["fuse"]["settings"]})
    for placed, step in zip(pipeline.steps, config["steps"], strict=True):
        lines += ["", "[[step]]"]
        lines += _settings({"use": _short("step", step["use"]), "name": placed.name, **step["settings"]})
    return "\n".join(lines) + "\n"


def _short(kind: str, where: str) -> str:
    """The registered name of a class; a third party's is known by its entry point alone."""
    from importlib.metadata import entry_points

    from assay.registry import GROUPS

    own = (name for name, place in TABLES[kind].items() if place == where)
    others = (point.name for point in entry_points(group=GROUPS[kind]) if point.value == where)
    return next(own, None) or next(others, where)


def _settings(table: Mapping[str, Any]) -> list[str]:
    """TOML has no null: a setting that is not set is left out."""
    return [f"{_key(key)} = {_value(value)}" for key, value in table.items() if value is not None]


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _value(key)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # TOML's basic strings are JSON's
    if isinstance(value, Mapping):
        return "{ " + ", ".join(_settings(value)) + " }" if value else "{}"
    if isinstance(value, list):
        return "[" + ", ".join(_value(entry) for entry in value) + "]"
    return repr(value)  # whole numbers, and floats, whose inf and nan are spelt alike in both languages
