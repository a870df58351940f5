"""A model of few parameters with a physical meaning, fitted to measured parts, checked on ones it has not seen.

n rows on s nodes, a graph searched with width ef; times are processor times of all nodes together.

    exact query    s·a + c·n                     a: a request at a node; c: comparing one vector
    graph query    s·(a + b·ef·ln(n/s))          b: one candidate, per e-fold of a node's rows
    build          n·(f·(1−1/s) + g·ln(n/s))     f: sending a row on to its node; g: linking it
    memory         s·m + w·n                     m: an empty node; w: a row

b, g and w are those of a kind of vectors (hnsw, int8); a, f and m are the same for both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import nnls

EXACT_QUERY, GRAPH_QUERY, BUILD, MEMORY = "exact query, ms", "graph query, ms", "build, s", "memory, MB"
GRAPHS = ("hnsw", "int8")


@dataclass(frozen=True, slots=True)
class GrowthPoint:
    """A measured value of n rows on s nodes; `kind` is how vectors are searched."""

    kind: str
    n: float
    s: float
    ef: float
    value: float = 0.0


Feature = Callable[[GrowthPoint], float]


def _of_kind(kind: str, feature: Feature) -> Feature:
    return lambda point: feature(point) if point.kind == kind else 0.0


def _of_each(name: str, feature: Feature) -> dict[str, Feature]:
    return {f"{name}, {kind}": _of_kind(kind, feature) for kind in GRAPHS}


FORMS: dict[str, dict[str, Feature]] = {
    EXACT_QUERY: {"a request at a node": lambda p: p.s, "a vector": lambda p: p.n},
    GRAPH_QUERY: {
        "a request at a node": lambda p: p.s,
        **_of_each("a candidate and e-fold of rows", lambda p: p.s * p.ef * float(np.log(p.n / p.s))),
    },
    BUILD: {
        "sending a row on": lambda p: p.n * (1.0 - 1.0 / p.s),
        **_of_each("linking a row, per e-fold of rows", lambda p: p.n * float(np.log(p.n / p.s))),
    },
    MEMORY: {"an empty node": lambda p: p.s, **_of_each("a row", lambda p: p.n)},
}
"""What is modelled → parameter → what it is multiplied with."""


@dataclass(frozen=True)
class GrowthModel:
    """One fitted form."""

    form: str
    parameters: tuple[float, ...]

    @staticmethod
    def fit(form: str, points: Sequence[GrowthPoint]) -> GrowthModel:
        """Least squares of relative errors; no cost is negative."""
        matrix = np.array([[feature(p) / p.value for feature in FORMS[form].values()] for p in points])
        scale = np.abs(matrix).max(axis=0)
        scale[scale == 0.0] = 1.0  # no part has it: its parameter becomes 0
        found = nnls(matrix / scale, np.ones(len(points)))[0] / scale
        return GrowthModel(form, tuple(float(one) for one in found))

    def predict(self, point: GrowthPoint) -> float:
        features = FORMS[self.form].values()
        return sum(p * feature(point) for p, feature in zip(self.parameters, features, strict=True))

    def error(self, point: GrowthPoint) -> float:
        """The relative error of a prediction."""
        return self.predict(point) / point.value - 1.0


def fit_power(form: str, kind: str, points: Sequence[GrowthPoint]) -> Feature:
    """Another form for the same points, for the range of an extrapolation: a power of a node's rows in place of their
    logarithm, from the parts of a kind on one node."""

    def unit(p: GrowthPoint) -> float:
        return p.s * p.ef if form == GRAPH_QUERY else p.n

    alone = [point for point in points if point.s == 1.0 and point.kind == kind]
    x = np.log([point.n for point in alone])
    slope, start = np.polyfit(x, np.log([p.value / unit(p) for p in alone]), 1)
    return lambda p: float(unit(p) * np.exp(start + slope * np.log(p.n / p.s)))


def report_form(form: str, points: Sequence[GrowthPoint], held_out: Mapping[str, GrowthPoint]) -> dict[str, Any]:
    """Parameters by name, errors on the points, and the errors on the parts that were held out."""
    model = GrowthModel.fit(form, points)
    return {
        "parameters": {name: float(f"{p:.4g}") for name, p in zip(FORMS[form], model.parameters, strict=True)},
        "points": len(points),
        "largest_error": round(max(abs(model.error(point)) for point in points), 3),
        "held_out": {
            name: {
                "measured": round(point.value, 2),
                "predicted": round(model.predict(point), 2),
                "error": round(model.error(point), 3),
            }
            for name, point in held_out.items()
        },
    }


def extrapolate(
    points: Mapping[str, Sequence[GrowthPoint]],
    reports: Mapping[str, Mapping[str, Any]],
    sizes: Sequence[float],
    node_gb: float,
    ef: float,
) -> list[dict[str, Any]]:
    """What so many rows need on nodes of `node_gb`; a range spans both forms, widened by the worst error seen."""
    memory = GrowthModel.fit(MEMORY, points[MEMORY])
    empty, *weights = memory.parameters
    rows = []
    for kind, weight in zip(GRAPHS, weights, strict=True):
        for n in sizes:
            s = float(np.ceil(n * weight / (node_gb * 1_000.0 - empty)))
            whole = GrowthPoint(kind, n, s, ef)
            entry: dict[str, Any] = {"vectors": kind, "rows": n, "nodes": int(s)}
            entry["memory_gb"] = round(memory.predict(whole) / 1_000.0)
            for form, key, scale in ((GRAPH_QUERY, "query_cpu_ms", 1.0), (BUILD, "build_core_hours", 1.0 / 3_600.0)):
                forms = (GrowthModel.fit(form, points[form]).predict, fit_power(form, kind, points[form]))
                both = [forecast(whole) for forecast in forms]
                wide = 1.0 + _worst_error(reports[form])
                entry[key] = [float(f"{min(both) / wide * scale:.2g}"), float(f"{max(both) * wide * scale:.2g}")]
            rows.append(entry)
    return rows


def _worst_error(report: Mapping[str, Any]) -> float:
    return max(report["largest_error"], *(abs(held["error"]) for held in report["held_out"].values()), 0.0)
