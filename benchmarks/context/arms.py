"""The systems under comparison: the default pipeline with different packers, and the settings that are varied."""

from __future__ import annotations

from typing import Any

from assay.bench.systems import System, make_system
from assay.config.load import from_dict, load, to_config

ARMS: dict[str, dict[str, Any]] = {
    "naive": {"use": "naive"},
    "adagres": {"use": "adagres"},
    "coverage": {"use": "coverage"},
    "words only": {"use": "coverage", "scorer": "none"},
    "naive, no headers": {"use": "naive", "headers": False},
    "coverage, no headers": {"use": "coverage", "headers": False},
}
PAIRS = {"coverage, no headers": "naive, no headers"}
"""Arms that are compared with another baseline than the naive packer."""
BASELINE = "naive"
UNPACKED = "bare chunks"
"""No packer: whole chunks in order, those that do not fit skipped; no header or citation is written or counted."""

VARIED: dict[str, tuple[float, ...]] = {
    "words": (0.25, 0.5, 0.75),
    "sentence": (0.25, 0.5, 0.75),
    "terms": (4.0, 8.0, 12.0),
    "names": (1.0, 2.0, 3.0),
    "hops": (1.5, 2.5, 3.5),
    "power": (0.0, 0.25, 0.4),
}

ABLATIONS: dict[str, dict[str, float]] = {
    "without terms": {"terms": 0.0},
    "without names": {"names": 0.0},
    "without facets": {"facets": 0.0},
    "without hops": {"hops": 0.0},
    "without words": {"words": 0.0},
    "without sentence": {"sentence": 0.0},
    "relevance only": {"terms": 0.0, "names": 0.0, "facets": 0.0, "hops": 0.0},
}


def make_arms() -> list[System]:
    """The default pipeline without a packer, and with each one."""
    config = to_config(load("default"))
    packed = [make_system(from_dict({**config, "context": packer}), name) for name, packer in ARMS.items()]
    return [make_system(from_dict(config), UNPACKED), *packed]


def make_variants() -> dict[str, dict[str, float]]:
    """Settings of the coverage packer: the defaults, and one of them changed at a time."""
    changed = {f"{key}={value:g}": {key: value} for key, values in VARIED.items() for value in values}
    return {"default": {}, **changed, **ABLATIONS}
