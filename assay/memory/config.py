"""The configuration of 002 under its own names, checked and converted into a pipeline of ours, once, at the edge.

    convert({"mode": "vector", "recencyWeight": 0.2}).pipeline      for assay.config.load.from_dict
    configured("memory.json")                                       the same from a file, as a pipeline

`convert({})` is the preset `memory`. An unknown key is an error that names the nearest. A key that is known but
that nothing reads here is accepted with a warning: 002 itself leaves vectorWeight and bm25Weight without effect.
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
from assay.rerank.providers.table import PROVIDERS


@dataclass(frozen=True, slots=True)
class Key:
    """One key: its type (that of its default), its default, its legal values, and what it becomes."""

    name: str
    default: str | float | int | bool
    becomes: str
    lo: float = 0.0
    hi: float = math.inf
    choices: tuple[str, ...] = ()

    @property
    def legal(self) -> str:
        """The legal values in words."""
        if self.choices:
            return ", ".join(self.choices)
        if isinstance(self.default, bool):
            return "true or false"
        if isinstance(self.default, str):
            return "text"
        kind = "a whole number" if isinstance(self.default, int) else "a number"
        return f"{kind} from {self.lo:g} to {self.hi:g}" if math.isfinite(self.hi) else f"{kind} from {self.lo:g}"


KEYS: tuple[Key, ...] = (
    Key("mode", "hybrid", "the legs: dense and bm25, or dense alone", choices=("hybrid", "vector")),
    Key("vectorWeight", 0.7, "nothing under confirm_boost", hi=1.0),
    Key("bm25Weight", 0.3, "nothing under confirm_boost", hi=1.0),
    Key("minScore", 0.3, "min_score before the rerank", hi=1.0),
    Key(
        "rerank",
        "cross-encoder",
        "provider_rerank, cosine, or no step",
        choices=("cross-encoder", "lightweight", "none"),
    ),
    Key("candidatePoolSize", 20, "how deep each leg looks", lo=1),
    Key("recencyHalfLifeDays", 14.0, "recency.tau_days; 0 leaves the step out"),
    Key("recencyWeight", 0.1, "recency.weight; 0 leaves the step out", hi=1.0),
    Key("filterNoise", True, "the step noise, or none"),
    Key("rerankProvider", "jina", "provider_rerank.provider", choices=tuple(PROVIDERS)),
    Key("rerankModel", "jina-reranker-v3", "provider_rerank.model; by default the provider's own"),
    Key("rerankEndpoint", "https://api.jina.ai/v1/rerank", "provider_rerank.endpoint; by default the provider's own"),
    Key("lengthNormAnchor", 500.0, "length.anchor, in characters; 0 leaves the step out"),
    Key("hardMinScore", 0.35, "min_score after every score", hi=1.0),
    Key("timeDecayHalfLifeDays", 60.0, "decay.tau_days; 0 leaves the step out"),
)
"""The whole configuration reference of 002, and the provider its text names."""

_ELSEWHERE = {"rerankApiKey": "keys stand in the environment, e.g. JINA_API_KEY, never in a configuration"}


@dataclass(frozen=True, slots=True)
class Conversion:
    """A pipeline as plain data, for `assay.config.load.from_dict`, and what the configuration says to no effect."""

    pipeline: dict[str, Any]
    warnings: tuple[str, ...]


def configured(path: str | Path) -> tuple[Pipeline, tuple[str, ...]]:
    """The pipeline that a JSON file in 002's names makes, named after the file, and what it says to no effect."""
    file = Path(path)
    try:
        given = json.loads(file.read_text("utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}", "name a file that is there and can be read") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file} is not JSON: {error}", "its keys are listed in docs/memory.md") from error
    if not isinstance(given, dict):
        raise ConfigError(f"{file} holds no table of keys", 'write {"key": value, …}; keys: docs/memory.md')
    found = convert(given)
    return from_dict(found.pipeline, file.stem), found.warnings


def convert(given: Mapping[str, Any], k: int = 10) -> Conversion:
    """002's configuration as a pipeline whose answers have `k` memories; ConfigError for a key or value it has not."""
    settings = read(given)
    pipeline: dict[str, Any] = {"k": k, "legs": _legs(settings)}
    if settings["mode"] == "hybrid":
        pipeline["fuse"] = {"use": "confirm_boost"}
    pipeline["step"] = list(_steps(settings, given))
    return Conversion(pipeline, tuple(_warnings(settings, given)))


def read(given: Mapping[str, Any]) -> dict[str, Any]:
    """Every key with its value, given or default, checked."""
    known = {key.name: key for key in KEYS}
    for name in given:
        if name not in known:
            cure = _ELSEWHERE.get(name) or nearest(str(name), known)
            raise ConfigError(f"memory configuration has no key {name!r}", cure)
    return {key.name: _checked(key, given.get(key.name, key.default)) for key in KEYS}


def _checked(key: Key, value: Any) -> Any:
    kind, said = type(key.default), f"{key.name} = {value!r}"
    number = kind in (int, float)
    fits = isinstance(value, int | float) and not isinstance(value, bool) if number else type(value) is kind
    if not fits or value == "":
        raise ConfigError(f"{said} should be {key.legal}", f"got {type(value).__name__}")
    if key.choices and value not in key.choices:
        raise ConfigError(f"{said} is not one of its values", nearest(value, key.choices))
    if number and not (key.lo <= value <= min(key.hi, sys.float_info.max) and (kind is float or value == int(value))):
        raise ConfigError(f"{said} is out of range", f"give {key.legal}")
    return kind(value)


def _legs(settings: Mapping[str, Any]) -> dict[str, Any]:
    depth = settings["candidatePoolSize"]
    legs = {"dense": {"k": depth, "norm": "clamp"}}
    if settings["mode"] == "hybrid":
        legs["bm25"] = {"k": depth, "priority": 1, "norm": "ideal"}
    return legs


def _steps(settings: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The steps in 002's order; what is switched off is left out."""
    if settings["minScore"]:
        yield {"use": "min_score", "name": "minimum", "threshold": settings["minScore"]}
    if settings["rerank"] != "none":
        yield rerank_step(settings, given)
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


def rerank_step(settings: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Who reads the candidates. The model and the endpoint of the table hold for a provider unless others are given."""
    if settings["rerank"] == "lightweight":
        return {"use": "cosine", "name": "rerank"}
    legs = len(_legs(settings))
    step = {"use": "provider_rerank", "name": "rerank", "provider": settings["rerankProvider"]}
    named = {"rerankModel": "model", "rerankEndpoint": "endpoint"}
    chosen = {ours: settings[name] for name, ours in named.items() if name in given and not _local(settings)}
    # 002 sends all it fetched to the reranker, so the pool is what the legs can find together.
    return {**step, **chosen, "pool": max(2, legs * settings["candidatePoolSize"])}


def _local(settings: Mapping[str, Any]) -> bool:
    """A provider that runs in this process has neither an address nor a name on the wire."""
    return PROVIDERS[settings["rerankProvider"]].wire is None


def _warnings(settings: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[str]:
    fused = (
        "under confirm_boost; weighted_merge reads such weights" if settings["mode"] == "hybrid" else "in vector mode"
    )
    yield from (f"{name} has no effect {fused}" for name in ("vectorWeight", "bm25Weight") if name in given)
    about_provider = [name for name in ("rerankProvider", "rerankModel", "rerankEndpoint") if name in given]
    if settings["rerank"] != "cross-encoder":
        yield from (f'{name} has no effect with rerank = "{settings["rerank"]}"' for name in about_provider)
    elif _local(settings):
        yield from (f'{name} has no effect with rerankProvider = "local"' for name in about_provider[1:])
    if "recencyWeight" in given and not settings["recencyHalfLifeDays"]:
        yield "recencyWeight has no effect with recencyHalfLifeDays = 0"
