"""Systems: named pipelines under test, and the baselines that stand in every report."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.bench.receipt import digest_of
from assay.config.load import from_dict, load, presets, source, to_config
from assay.engine.pipeline import Pipeline
from assay.errors import ConfigError, nearest

RANDOM, ORACLE = "random", "oracle"
BOUNDS = (RANDOM, ORACLE)
"""The floor and the ceiling: no pipelines, but rankings made from the dataset itself."""


@dataclass(frozen=True)
class System:
    """A way of answering under the name that reports use. `spec` is its whole config, and rebuilds it."""

    name: str
    spec: Mapping[str, Any] = field(repr=False)
    pipeline: Pipeline | None = None

    @property
    def digest(self) -> str:
        """Identifies the behaviour, not the name."""
        return self.pipeline.digest if self.pipeline else digest_of(self.spec)


def of(pipeline: Pipeline, name: str = "") -> System:
    return System(name or pipeline.name, to_config(pipeline), pipeline)


def _bound(name: str) -> System:
    return System(name, {"baseline": name})


def _hybrid() -> System:
    return of(load("rrf"), "hybrid")


def _hybrid_reranked() -> System:
    config = {**tomllib.loads(source("rrf")), "step": [{"use": "late_interaction"}]}
    return of(from_dict(config), "hybrid+rerank")


BASELINES: Mapping[str, Callable[[], System]] = {
    RANDOM: lambda: _bound(RANDOM),
    ORACLE: lambda: _bound(ORACLE),
    "bm25": lambda: of(load("bm25")),
    "dense": lambda: of(load("dense")),
    "hybrid": _hybrid,
    "hybrid+rerank": _hybrid_reranked,
}


def system(name_or_path: str) -> System:
    """A baseline, a preset or a TOML file. A file's system is called like the file."""
    if name_or_path in BASELINES:
        return BASELINES[name_or_path]()
    if not name_or_path.endswith(".toml") and name_or_path not in presets():
        known = sorted({*BASELINES, *presets()})
        raise ConfigError(
            f"there is no system called {name_or_path!r}", f"{nearest(name_or_path, known)}, or a TOML file"
        )
    found = load(name_or_path)
    # Two files may both say `name = "mine"`; their file names tell them apart.
    return of(found, Path(name_or_path).stem if name_or_path.endswith(".toml") else found.name)


def systems(names: Sequence[str]) -> list[System]:
    """Each name once, in the order given; two different pipelines under one name are an error."""
    chosen: dict[str, System] = {}
    for name in names:
        found = system(name)
        known = chosen.get(found.name)
        if known is not None and known.digest != found.digest:
            raise ConfigError(f"two different systems are called {found.name!r}", "rename one of the files")
        chosen[found.name] = found
    return list(chosen.values())


def from_spec(name: str, spec: Mapping[str, Any]) -> System:
    """A system as a receipt describes it."""
    if "baseline" in spec:
        return _bound(spec["baseline"])
    return of(from_dict(spec, name), name)
