"""A pipeline written out whole: every setting, defaults included, as TOML that reads back to the same digest."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from assay.config import to_config
from assay.pipeline import Pipeline

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def resolved_toml(pipeline: Pipeline) -> str:
    """The whole config of a pipeline."""
    config = to_config(pipeline)
    lines = [f"name = {_value(pipeline.name)}", f"k = {pipeline.k}"]
    for name, leg in config["legs"].items():
        lines += ["", f"[legs.{_key(name)}]", *_settings(leg)]
    if "fuse" in config:
        lines += ["", "[fuse]", *_settings(config["fuse"])]
    for step in config.get("step", ()):
        lines += ["", "[[step]]", *_settings(step)]
    return "\n".join(lines) + "\n"


def _settings(table: Mapping[str, Any]) -> list[str]:
    return [f"{_key(key)} = {_value(value)}" for key, value in table.items()]


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
