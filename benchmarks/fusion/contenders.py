"""The contenders: every fusion of BM25 and dense, and the graph as a third leg at every weight."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from assay.bench.systems import System, make_system
from assay.config.load import from_dict

POOL = 100
CONSTANTS = (10, 30, 60, 100)
DENSE_WEIGHTS = (0.25, 0.5, 0.75, 1.5, 2.0)
ALPHAS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
GRAPH_WEIGHTS = (0.0, 0.35, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0)
BONUSES = (0.02, 0.05, 0.1, 0.2)
FAMILIES = {
    "rrf": tuple(f"rrf-{c}" for c in CONSTANTS),
    "weighted rrf": ("rrf-60", *(f"wrrf-{w:g}" for w in DENSE_WEIGHTS)),
    "min-max": tuple(f"minmax-{a:g}" for a in ALPHAS),
    "tm2c2": tuple(f"tm2c2-{a:g}" for a in ALPHAS),
    "dbsf": ("dbsf",),
}
"""Family → its members. `relative_score` is min-max at .5 under another name."""


FEW = ("bm25", "dense", "rrf-60", "minmax-0.4", "tm2c2-0.5", "graph-0.35", "graph-1")
"""With those that have a bonus, the contenders on sets that nothing is tuned on."""


def contenders() -> list[System]:
    """Every contender under its name."""
    return [make_system(from_dict(config, name), name) for name, config in _configs()]


def few() -> list[System]:
    """The contenders for the suite from documents: one of each kind, and every exact bonus."""
    return [system for system in contenders() if system.name in FEW or "+exact" in system.name]


def _configs() -> Iterator[tuple[str, dict[str, Any]]]:
    yield "bm25", {"legs": {"bm25": {"k": POOL}}}
    yield "dense", {"legs": {"dense": {"k": POOL}}}
    for c in CONSTANTS:
        yield f"rrf-{c}", _two({"use": "rrf", "c": float(c)})
    for weight in DENSE_WEIGHTS:
        yield f"wrrf-{weight:g}", _two({"use": "rrf", "c": 60.0, "weights": {"bm25": 1.0, "dense": weight}})
    for norm, name in (("min-max", "minmax"), ("tm2c2", "tm2c2")):
        for alpha in ALPHAS:
            yield f"{name}-{alpha:g}", _two(_convex(norm, alpha))
    yield "dbsf", _two({"use": "dbsf"})
    for bonus in BONUSES:
        yield f"rrf-60+exact-{bonus:g}", {**_two({"use": "rrf", "c": 60.0}), "step": [_exact(bonus)]}
    yield "minmax-0.4+exact-0.05", {**_two(_convex("min-max", 0.4)), "step": [_exact(0.05)]}
    for weight in GRAPH_WEIGHTS:
        for keep in (True, False):
            weights = {"bm25": 1.0, "dense": 1.0, "graph": weight}
            name = f"graph-{weight:g}" + ("" if keep else "-new")
            if weight or keep:
                yield name, _three({"use": "rrf", "c": 60.0, "weights": weights}, keep)
    yield (
        "tm2c2+graph-0.1",
        _three({**_convex("tm2c2", 0.5), "weights": {"bm25": 0.45, "dense": 0.45, "graph": 0.1}}, True),
    )


def _two(fuse: dict[str, Any]) -> dict[str, Any]:
    return {"legs": {"bm25": {"k": POOL}, "dense": {"k": POOL}}, "fuse": fuse}


def _three(fuse: dict[str, Any], keep: bool) -> dict[str, Any]:
    """With the graph; with `keep` the seeds may come back themselves, else only what is new."""
    config = _two(fuse)
    config["legs"]["graph"] = {"k": POOL, "after": ["bm25", "dense"], "keep": "all" if keep else "new"}
    return config


def _convex(norm: str, alpha: float) -> dict[str, Any]:
    return {"use": "convex", "norm": norm, "weights": {"bm25": round(1.0 - alpha, 3), "dense": alpha}}


def _exact(bonus: float) -> dict[str, Any]:
    return {"use": "exact_bonus", "bonus": bonus}
