"""Routing errors from the events of walks: by level and stratum, by node, against the threshold and between arms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb
from typing import Any

import numpy as np

from assay.bench.metrics.routing import HopOutcome, LevelOutcome, summarise_hops, summarise_levels
from assay.bench.rb006.diagnostics.measurements import RACE, ScaleMeasurements, strata_of
from assay.bench.rb006.measures.survival import correlate_survival
from assay.bench.rb006.subject import SuiteQuery
from assay.bench.stats import sign_flip

Events = Mapping[str, Any]
ARMS = (RACE, "hcr", "beam-only", "margin-4", "top-2", "rerank-children", "path-ema", "router-maxpool")
"""Systems whose walks may differ."""
WORST_NODES = 12
_LEVEL = ("level", "reached", "any", "node", "evidence", "every", "chance", "lost", "children")


def read_levels(events: Events) -> list[LevelOutcome]:
    """The outcomes of a walk by level."""
    lines: list[dict[str, Any]] = [{key: line[key] for key in _LEVEL} for line in events["levels"]]
    return [LevelOutcome(**{**line, "children": tuple(line["children"])}) for line in lines]


def worst_error(walks: Sequence[Events], levels: Sequence[int] | None = None) -> float | None:
    """The largest ε_any of any level, or of these; None where no walk reached one."""
    lines = summarise_levels([read_levels(events) for events in walks])
    errors = [line["eps_any"] for line in lines if line["eps_any"] is not None]
    if levels is not None:
        errors = [line["eps_any"] for line in lines if line["level"] in levels and line["eps_any"] is not None]
    return max(errors) if errors else None


def summarise_routing(at: ScaleMeasurements) -> dict[str, Any]:
    """Every arm that walks: errors by level and stratum, child recall, margins, hops, scan."""
    found = {}
    for system in ARMS:
        walks = at.routing(system)
        if not walks:
            continue
        groups = _split(at.feasible)
        found[system] = {
            "strata": {name: _summarise(at.routing(system, queries)) for name, queries in groups.items() if queries},
            "hops": summarise_hops([[HopOutcome(**hop) for hop in events["hops"]] for events in walks]),
            "scanned": float(np.mean([events["scanned"] for events in walks])) / at.scale,
        }
    return found


def _split(queries: Sequence[SuiteQuery]) -> dict[str, list[SuiteQuery]]:
    groups = {
        "all": list(queries),
        "single-branch": [query for query in queries if not query.is_cross_branch],
        "cross-branch": [query for query in queries if query.is_cross_branch],
    }
    return groups | {tag: [queries[place] for place in places] for tag, places in strata_of(queries).items()}


def _summarise(walks: Sequence[Events]) -> list[dict[str, Any]]:
    lines = summarise_levels([read_levels(events) for events in walks])
    for line in lines:
        places = [one for events in walks for one in events["levels"] if one["level"] == line["level"]]
        for key in ("child_recall", "margin"):
            values = [one[key] for one in places if one[key] is not None]
            line[key] = sum(values) / len(values) if values else None
    return lines


def find_bad_nodes(walks: Sequence[Events]) -> list[dict[str, int]]:
    """The nodes with the most walks that lost their evidence there, and how many walks passed."""
    passed: dict[tuple[int, int], list[int]] = {}
    for events in walks:
        for level, node, missed in events["nodes"]:
            passed.setdefault((level, node), []).append(missed)
    lines = [
        {"level": level, "node": node, "walks": len(missed), "missed": sum(missed)}
        for (level, node), missed in passed.items()
    ]
    lines.sort(key=lambda line: (-line["missed"], -line["walks"], line["level"], line["node"]))
    return lines


def check_threshold(walks: Sequence[Events], threshold: float) -> list[dict[str, Any]]:
    """For each level the exact one-sided p of so few misses if the true error were above the threshold."""
    lines = summarise_levels([read_levels(events) for events in walks])
    return [
        {
            "level": line["level"],
            "misses": line["misses"],
            "queries": line["queries"],
            "threshold": threshold,
            "p": binomial_at_most(line["misses"], line["queries"], threshold),
        }
        for line in lines
        if line["queries"]
    ]


def binomial_at_most(k: int, n: int, rate: float) -> float:
    """P(X ≤ k) of a binomial distribution."""
    return min(1.0, sum(comb(n, i) * rate**i * (1.0 - rate) ** (n - i) for i in range(k + 1)))


def compare_arms(at: ScaleMeasurements, arm: str, other: str) -> dict[str, Any] | None:
    """The graded error of a whole walk, 1 − survival, of two arms on the same queries: a flat system has none."""
    a, b = at.routing(other), at.routing(arm)
    if not a or len(a) != len(b):
        return None
    difference = np.array([y["survival"] - x["survival"] for x, y in zip(a, b, strict=True)])
    return {
        "arm": arm,
        "other": other,
        "queries": len(difference),
        "survival": float(np.mean([one["survival"] for one in b])),
        "other_survival": float(np.mean([one["survival"] for one in a])),
        "difference": float(difference.mean()),
        "p": sign_flip(difference),
    }


def correlate(at: ScaleMeasurements, system: str = RACE) -> dict[str, Any] | None:
    """Survival against A@400 over the feasible queries: Spearman, its permutation p and its ceiling."""
    answers, walks = at.column(system, "A", 400), at.routing(system)
    if answers is None or len(walks) != len(answers):
        return None
    found = correlate_survival(np.array([events["survival"] for events in walks]), answers)
    return {"queries": found.n, "rho": found.rho, "p": found.p, "ceiling": found.ceiling}
