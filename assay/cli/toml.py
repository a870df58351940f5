"""Writes a pipeline as TOML with every setting, defaults included; it loads to the same digest."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from assay.config.load import to_config
from assay.engine.pipeline import Pipeline

_BARE = re.compile(r"[A-Za-z0-9_-]+")


_TABLES = ("legs", "fuse", "step", "context")


def resolved_toml(pipeline: Pipeline) -> str:
    """The whole config of a pipeline."""
    config = to_config(pipeline)
    lines = [f"name = {_value(pipeline.name)}", *_settings({k: v for k, v in config.items() if k not in _TABLES})]
    return "\n".join([*lines, *_parts(config, "")]) + "\n"


def _parts(config: Mapping[str, Any], above: str) -> Iterator[str]:
    """The tables of a pipeline, or of one inside a leg."""
    for name, leg in config["legs"].items():
        place = f"{above}legs.{_key(name)}"
        inner = {key: leg[key] for key in _TABLES if key in leg}
        yield from ("", f"[{place}]", *_settings({key: value for key, value in leg.items() if key not in inner}))
        if inner:
            yield from _parts(inner, f"{place}.")
    if "fuse" in config:
        yield from ("", f"[{above}fuse]", *_settings(config["fuse"]))
    for step in config.get("step", ()):
        yield from ("", f"[[{above}step]]", *_settings(step))
    if "context" in config:
        yield from ("", "[context]", *_settings(config["context"]))


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
