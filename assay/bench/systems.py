"""Systems: named pipelines under test, and the baselines of every report."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.bench.receipt import compute_digest
from assay.config.load import from_dict, from_recorded, load, preset_names, read_toml, to_config
from assay.engine.pipeline import Pipeline
from assay.errors import ConfigError, nearest

RANDOM, ORACLE = "random", "oracle"
BOUNDS = (RANDOM, ORACLE)
"""The lower and upper bound: no pipelines, but rankings computed from the dataset itself."""


@dataclass(frozen=True)
class System:
    """A pipeline or a bound under the name that reports use. `spec` is its whole config, and rebuilds it."""

    name: str
    spec: Mapping[str, Any] = field(repr=False)
    pipeline: Pipeline | None = None

    @property
    def digest(self) -> str:
        """Identifies the behaviour, not the name."""
        return self.pipeline.digest if self.pipeline else compute_digest(self.spec)


def make_system(pipeline: Pipeline, name: str = "") -> System:
    return System(name or pipeline.name, to_config(pipeline), pipeline)


def _make_bound(name: str) -> System:
    return System(name, {"baseline": name})


def _make_hybrid() -> System:
    return make_system(load("rrf"), "hybrid")


def _make_hybrid_reranked() -> System:
    config = {**tomllib.loads(read_toml("rrf")), "step": [{"use": "late_interaction"}]}
    return make_system(from_dict(config), "hybrid+rerank")


BASELINES: Mapping[str, Callable[[], System]] = {
    RANDOM: lambda: _make_bound(RANDOM),
    ORACLE: lambda: _make_bound(ORACLE),
    "bm25": lambda: make_system(load("bm25")),
    "dense": lambda: make_system(load("dense")),
    "hybrid": _make_hybrid,
    "hybrid+rerank": _make_hybrid_reranked,
}


def load_system(name_or_path: str) -> System:
    """Load a baseline, a preset or a TOML file. A file's system is named after the file."""
    if name_or_path in BASELINES:
        return BASELINES[name_or_path]()
    if not name_or_path.endswith(".toml") and name_or_path not in preset_names():
        known = sorted({*BASELINES, *preset_names()})
        raise ConfigError(
            f"there is no system called {name_or_path!r}", f"{nearest(name_or_path, known)}, or a TOML file"
        )
    found = load(name_or_path)
    # Two files may both say `name = "mine"`; their file names tell them apart.
    return make_system(found, Path(name_or_path).stem if name_or_path.endswith(".toml") else found.name)


def load_systems(names: Sequence[str]) -> list[System]:
    """Each name once, in the order given; two different pipelines under one name are an error."""
    chosen: dict[str, System] = {}
    for name in names:
        found = load_system(name)
        known = chosen.get(found.name)
        if known is not None and known.digest != found.digest:
            raise ConfigError(f"two different systems are called {found.name!r}", "rename one of the files")
        chosen[found.name] = found
    return list(chosen.values())


def from_spec(name: str, spec: Mapping[str, Any]) -> System:
    """Rebuild a system from a receipt's spec."""
    if "baseline" in spec:
        return _make_bound(spec["baseline"])
    return make_system(from_recorded(spec, name), name)
