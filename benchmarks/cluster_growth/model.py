"""A model of few parameters with a physical meaning, fitted to measured parts, checked on one it has not seen.

n rows on s nodes, a graph searched with width ef; times are processor times of all nodes together.

    exact query    s·a + c·n                     a: a request at a node; c: comparing one vector
    graph query    s·(a + b·ef·ln(n/s))          b: one candidate, per e-fold of a node's rows
    build          n·(f·(1−1/s) + g·ln(n/s))     f: sending a row on to its node; g: linking it
    memory         s·m + w·n                     m: an empty node; w: a row
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

EXACT_QUERY, GRAPH_QUERY, BUILD, MEMORY = "exact query, ms", "graph query, ms", "build, s", "memory, MB"
FORMS: dict[str, dict[str, Callable[[float, float, float], float]]] = {
    EXACT_QUERY: {"a request at a node": lambda _n, s, _ef: s, "a vector": lambda n, _s, _ef: n},
    GRAPH_QUERY: {
        "a request at a node": lambda _n, s, _ef: s,
        "a candidate and e-fold of rows": lambda n, s, ef: s * ef * float(np.log(n / s)),
    },
    BUILD: {
        "sending a row on": lambda n, s, _ef: n * (1.0 - 1.0 / s),
        "linking a row, per e-fold of rows": lambda n, s, _ef: n * float(np.log(n / s)),
    },
    MEMORY: {"an empty node": lambda _n, s, _ef: s, "a row": lambda n, _s, _ef: n},
}
"""What is modelled → parameter → what it is multiplied with, of (rows, nodes, width)."""


@dataclass(frozen=True, slots=True)
class GrowthPoint:
    """A measured value of n rows on s nodes."""

    n: float
    s: float
    ef: float
    value: float


@dataclass(frozen=True)
class GrowthModel:
    """One fitted form."""

    form: str
    parameters: tuple[float, ...]

    @staticmethod
    def fit(form: str, points: Sequence[GrowthPoint]) -> GrowthModel:
        """Least squares of relative errors."""
        matrix = [[feature(p.n, p.s, p.ef) / p.value for feature in FORMS[form].values()] for p in points]
        scale = np.abs(matrix).max(axis=0)
        found = np.linalg.lstsq(np.array(matrix) / scale, np.ones(len(points)), rcond=None)[0] / scale
        return GrowthModel(form, tuple(float(one) for one in found))

    def predict(self, n: float, s: float, ef: float) -> float:
        features = FORMS[self.form].values()
        return sum(p * feature(n, s, ef) for p, feature in zip(self.parameters, features, strict=True))

    def error(self, point: GrowthPoint) -> float:
        """The relative error of a prediction."""
        return self.predict(point.n, point.s, point.ef) / point.value - 1.0


def fit_power(form: str, points: Sequence[GrowthPoint]) -> Callable[[float, float, float], float]:
    """Another form for the same points, for the range of an extrapolation: a power of a node's rows in place of their
    logarithm, from the parts on one node."""

    def unit(n: float, s: float, ef: float) -> float:
        return s * ef if form == GRAPH_QUERY else n

    alone = [point for point in points if point.s == 1.0]
    x = np.log([point.n for point in alone])
    slope, start = np.polyfit(x, np.log([p.value / unit(p.n, p.s, p.ef) for p in alone]), 1)
    return lambda n, s, ef: float(unit(n, s, ef) * np.exp(start + slope * np.log(n / s)))


def report_form(form: str, points: Sequence[GrowthPoint], held_out: GrowthPoint | None) -> dict[str, Any]:
    """Parameters by name, errors on the points, and the error on the point that was held out."""
    model = GrowthModel.fit(form, points)
    report: dict[str, Any] = {
        "parameters": {name: float(f"{p:.4g}") for name, p in zip(FORMS[form], model.parameters, strict=True)},
        "points": len(points),
        "largest_error": round(max(abs(model.error(point)) for point in points), 3),
    }
    if held_out is not None:
        report["held_out"] = {
            "rows": held_out.n,
            "nodes": held_out.s,
            "measured": held_out.value,
            "predicted": round(model.predict(held_out.n, held_out.s, held_out.ef), 2),
            "error": round(model.error(held_out), 3),
        }
    return report


def extrapolate(
    points: Mapping[str, Sequence[GrowthPoint]],
    reports: Mapping[str, Mapping[str, Any]],
    sizes: Sequence[float],
    node_gb: float,
    ef: float,
) -> list[dict[str, Any]]:
    """What so many rows need on nodes of `node_gb`; a range spans both forms, widened by the worst error seen."""
    memory = GrowthModel.fit(MEMORY, points[MEMORY])
    per_node = (node_gb * 1_000.0 - memory.parameters[0]) / memory.parameters[1]
    rows = []
    for n in sizes:
        s = float(np.ceil(n / per_node))
        entry: dict[str, Any] = {"rows": n, "nodes": int(s), "memory_gb": round(memory.predict(n, s, ef) / 1_000.0)}
        for form, key, scale in ((GRAPH_QUERY, "query_cpu_ms", 1.0), (BUILD, "build_core_hours", 1.0 / 3_600.0)):
            both = [
                forecast(n, s, ef)
                for forecast in (GrowthModel.fit(form, points[form]).predict, fit_power(form, points[form]))
            ]
            report = reports[form]
            wide = 1.0 + max(report["largest_error"], abs(report.get("held_out", {}).get("error", 0.0)))
            entry[key] = [float(f"{min(both) / wide * scale:.2g}"), float(f"{max(both) * wide * scale:.2g}")]
        rows.append(entry)
    return rows
