"""Converts a configuration in the memory pipeline's own keys into a pipeline.

    convert({"mode": "vector", "recencyWeight": 0.2}).pipeline      for assay.config.load.from_dict
    load_pipeline("memory.json")                                    the same from a file, as a pipeline

`convert({})` is the preset `memory`. An unknown key is an error that names the nearest. A known key without effect is
accepted with a warning: in the specification itself vectorWeight and bm25Weight have no effect.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.config.load import from_dict
from assay.engine.pipeline import Pipeline
from assay.errors import ConfigError, nearest
from assay.legs.bm25 import Bm25
from assay.rerank.providers.table import PROVIDERS


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """One key: its default (which also gives its type), its legal values, and what it becomes."""

    name: str
    default: str | float | int | bool
    becomes: str
    lo: float = 0.0
    hi: float = math.inf
    choices: tuple[str, ...] = ()

    @property
    def legal(self) -> str:
        """A description of the legal values."""
        if self.choices:
            return ", ".join(self.choices)
        if isinstance(self.default, bool):
            return "true or false"
        if isinstance(self.default, str):
            return "text"
        expected_type = "a whole number" if isinstance(self.default, int) else "a number"
        return (
            f"{expected_type} from {self.lo:g} to {self.hi:g}"
            if math.isfinite(self.hi)
            else f"{expected_type} from {self.lo:g}"
        )


KEYS: tuple[ConfigKey, ...] = (
    ConfigKey("mode", "hybrid", "the legs: dense and bm25, or dense alone", choices=("hybrid", "vector")),
    ConfigKey("vectorWeight", 0.7, "nothing under confirm_boost", hi=1.0),
    ConfigKey("bm25Weight", 0.3, "nothing under confirm_boost", hi=1.0),
    ConfigKey("minScore", 0.3, "min_score before the rerank", hi=1.0),
    ConfigKey(
        "rerank",
        "cross-encoder",
        "provider_rerank, cosine, or no step",
        choices=("cross-encoder", "lightweight", "none"),
    ),
    ConfigKey("candidatePoolSize", 20, "how deep each leg looks", lo=1),
    ConfigKey("recencyHalfLifeDays", 14.0, "recency.tau_days; 0 leaves the step out"),
    ConfigKey("recencyWeight", 0.1, "recency.weight; 0 leaves the step out", hi=1.0),
    ConfigKey("filterNoise", True, "the step noise, or none"),
    ConfigKey("rerankProvider", "jina", "provider_rerank.provider", choices=tuple(PROVIDERS)),
    ConfigKey("rerankModel", "jina-reranker-v3", "provider_rerank.model; by default the provider's own"),
    ConfigKey(
        "rerankEndpoint", "https://api.jina.ai/v1/rerank", "provider_rerank.endpoint; by default the provider's own"
    ),
    ConfigKey("lengthNormAnchor", 500.0, "length.anchor, in characters; 0 leaves the step out"),
    ConfigKey("hardMinScore", 0.35, "min_score after every score", hi=1.0),
    ConfigKey("timeDecayHalfLifeDays", 60.0, "decay.tau_days; 0 leaves the step out"),
)
"""The whole configuration reference of the specification, and the provider its text names."""

_CURES = {"rerankApiKey": "keys stand in the environment, e.g. JINA_API_KEY, never in a configuration"}


@dataclass(frozen=True, slots=True)
class Conversion:
    """A pipeline as plain data, for `assay.config.load.from_dict`, and warnings about keys without effect."""

    pipeline: dict[str, Any]
    warnings: tuple[str, ...]


def load_pipeline(path: str | Path) -> tuple[Pipeline, tuple[str, ...]]:
    """Load a JSON file with the memory pipeline's keys; return a pipeline named after the file, and warnings."""
    file = Path(path)
    try:
        config = json.loads(file.read_text("utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}", "name a file that is there and can be read") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file} is not JSON: {error}", "its keys are listed in docs/memory.md") from error
    if not isinstance(config, dict):
        raise ConfigError(f"{file} holds no table of keys", 'write {"key": value, …}; keys: docs/memory.md')
    conversion = convert(config)
    return from_dict(conversion.pipeline, file.stem), conversion.warnings


def convert(config: Mapping[str, Any], k: int = 10) -> Conversion:
    """Convert a configuration into a pipeline with `k` memories per answer; ConfigError for an unknown key or value."""
    settings = read_settings(config)
    pipeline: dict[str, Any] = {"k": k, "legs": _legs(settings)}
    if settings["mode"] == "hybrid":
        pipeline["fuse"] = {"use": "confirm_boost"}
    pipeline["step"] = list(_steps(settings, config))
    return Conversion(pipeline, tuple(_warnings(settings, config)))


def read_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return every key with its checked value, configured or default."""
    keys = {key.name: key for key in KEYS}
    for name in config:
        if name not in keys:
            cure = _CURES.get(name) or nearest(str(name), keys)
            raise ConfigError(f"memory configuration has no key {name!r}", cure)
    return {key.name: _check_value(key, config.get(key.name, key.default)) for key in KEYS}


def _check_value(key: ConfigKey, value: Any) -> Any:
    expected_type, setting = type(key.default), f"{key.name} = {value!r}"
    number = expected_type in (int, float)
    fits = isinstance(value, int | float) and not isinstance(value, bool) if number else type(value) is expected_type
    if not fits or value == "":
        raise ConfigError(f"{setting} should be {key.legal}", f"got {type(value).__name__}")
    if key.choices and value not in key.choices:
        raise ConfigError(f"{setting} is not one of its values", nearest(value, key.choices))
    if number and not (
        key.lo <= value <= min(key.hi, sys.float_info.max) and (expected_type is float or value == int(value))
    ):
        raise ConfigError(f"{setting} is out of range", f"give {key.legal}")
    return expected_type(value)


def _legs(settings: Mapping[str, Any]) -> dict[str, Any]:
    depth = settings["candidatePoolSize"]
    legs = {"dense": {"k": depth, "norm": "clamp"}}
    if settings["mode"] == "hybrid":
        legs["bm25"] = {"k": depth, "priority": 1, "norm": "ideal", **Bm25.digest_omits}  # as the preset
    return legs


def _steps(settings: Mapping[str, Any], config: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The steps in the specification's order; steps that are switched off are left out."""
    if settings["minScore"]:
        yield {"use": "min_score", "name": "minimum", "threshold": settings["minScore"]}
    if settings["rerank"] != "none":
        yield _rerank_step(settings, config)
    if settings["recencyHalfLifeDays"] and settings["recencyWeight"]:
        yield {"use": "recency", "tau_days": settings["recencyHalfLifeDays"], "weight": settings["recencyWeight"]}
    yield {"use": "importance"}
    if settings["lengthNormAnchor"]:
        yield {"use": "length", "anchor": settings["lengthNormAnchor"]}
    if settings["timeDecayHalfLifeDays"]:
        yield {"use": "decay", "tau_days": settings["timeDecayHalfLifeDays"]}
    if settings["hardMinScore"]:
        yield {"use": "min_score", "name": "hard_minimum", "threshold": settings["hardMinScore"]}
    if settings["filterNoise"]:
        yield {"use": "noise"}
    yield {"use": "defer"}


def _rerank_step(settings: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """The rerank step. Model and endpoint are those of the provider table unless configured."""
    if settings["rerank"] == "lightweight":
        return {"use": "cosine", "name": "rerank"}
    legs = len(_legs(settings))
    step = {"use": "provider_rerank", "name": "rerank", "provider": settings["rerankProvider"]}
    named = {"rerankModel": "model", "rerankEndpoint": "endpoint"}
    chosen = {ours: settings[name] for name, ours in named.items() if name in config and not _is_local(settings)}
    # The specification sends all fetched candidates to the reranker, so the pool is what the legs can find together.
    return {**step, **chosen, "pool": max(2, legs * settings["candidatePoolSize"])}


def _is_local(settings: Mapping[str, Any]) -> bool:
    """Whether the provider runs in this process; then it has no endpoint and no model name."""
    return PROVIDERS[settings["rerankProvider"]].wire is None


def _warnings(settings: Mapping[str, Any], config: Mapping[str, Any]) -> Iterator[str]:
    fused = (
        "under confirm_boost; weighted_merge reads such weights" if settings["mode"] == "hybrid" else "in vector mode"
    )
    yield from (f"{name} has no effect {fused}" for name in ("vectorWeight", "bm25Weight") if name in config)
    about_provider = [name for name in ("rerankProvider", "rerankModel", "rerankEndpoint") if name in config]
    if settings["rerank"] != "cross-encoder":
        yield from (f'{name} has no effect with rerank = "{settings["rerank"]}"' for name in about_provider)
    elif _is_local(settings):
        yield from (f'{name} has no effect with rerankProvider = "local"' for name in about_provider[1:])
    if "recencyWeight" in config and not settings["recencyHalfLifeDays"]:
        yield "recencyWeight has no effect with recencyHalfLifeDays = 0"
