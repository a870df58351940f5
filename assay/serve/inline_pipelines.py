"""Pipelines that a request brings as TOML: checked before they are built, because building one may open files.

A request may combine what the server has. It may not name other stores, files or model folders unless its caller is an
administrator, and nobody may start a program or contact a host that the server's user has not allowed.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any

from assay.config.effects import find_effects
from assay.config.load import from_dict
from assay.engine.pipeline import Pipeline
from assay.errors import ConfigError
from assay.serve.access import Caller, Forbidden
from assay.util.permissions import require

NAME = "inline"
_PLACES = ("source", "path", "command", "url", "endpoint")
"""Keys that name something outside of the server's store, whatever their value."""
_MODELS = ("model", "local_model", "rerank", "scorer")
"""Keys that name a model: by its plain name, or by a file or an address."""
_PLAIN_NAME = re.compile(r"[A-Za-z0-9._-]*")


def read_inline(toml: str, caller: Caller) -> Pipeline:
    """The pipeline of a request; Forbidden or NotAllowed for one that reaches further than its caller may."""
    try:
        config = tomllib.loads(toml)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"the pipeline is not valid TOML: {error}", "see docs/reference/config.md") from error
    if caller.right != "admin":
        for key, value in _settings(config):
            if key in _PLACES or (key in _MODELS and not _PLAIN_NAME.fullmatch(str(value))):
                raise Forbidden(
                    f"a pipeline of a request may not name a source, a file or an address: {key} = {str(value)[:60]!r}",
                    "let the server offer it (--pipelines DIR), or use a key with the right admin",
                )
    pipeline = from_dict(config, NAME)
    require(*(effect for _, effect in find_effects(pipeline)))
    return pipeline


def _settings(value: Any) -> Iterator[tuple[str, Any]]:
    """Every key with its value, at any depth."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key, inner
            yield from _settings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _settings(inner)
