"""Paired tests: primaries with Holm's correction, strata with Benjamini and Hochberg's.

Values of several seeds are averaged per query first. Differences are tested by sign flips (10,000 draws, two-sided),
the race against both of its paths by intersection-union; intervals come from a two-level bootstrap over archetypes and
queries. Effect sizes and power stand beside every p.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from assay.bench.rb006.diagnostics.measurements import (
    FLAT,
    NO_LINKS,
    RACE,
    Measurements,
    ScaleMeasurements,
    strata_of,
)
from assay.bench.rb006.diagnostics.routing import check_threshold, compare_arms
from assay.bench.rb006.diagnostics.values import right_columns
from assay.bench.rb006.measures.race import compare_race, compare_race_by_stratum
from assay.bench.rb006.subject import SuiteQuery
from assay.bench.stats import benjamini_hochberg, compare_pair, compare_pairs, holm, power
from assay.bench.stats.units import DECIMALS, standard_deviation
from assay.bench.types import Scores

EFFECT = 0.08
"""The difference whose power is reported: the threshold of H1a."""
TRUE_EFFECT = 0.12
"""The true difference that the suite is designed for."""


def compare_primaries(measured: Measurements) -> list[dict[str, Any]]:
    """The primaries: A@400, AUCbudget, parity, race gain, cross-links, routing error. p adjusted by Holm."""
    gate = measured.at_gate
    found = [
        _compare(gate, "A@400, race against flat", _columns(gate, FLAT, RACE)),
        _compare(gate, "AUCbudget, race against flat", (gate.areas(FLAT), gate.areas(RACE))),
        _compare(
            gate,
            "parity: A@400 of the race against the flat pool",
            (gate.column(FLAT, "A", "pool"), gate.column(RACE, "A", 400)),
        ),
        _compare_paths(gate),
        _compare_links(gate),
        _compare_error(gate),
    ]
    lines = [line for line in found if line is not None]
    if lines:
        for line, p in zip(lines, holm([line["p"] for line in lines]).tolist(), strict=True):
            line["p_holm"] = _round(p)
    return lines


def compare_strata(at: ScaleMeasurements) -> list[dict[str, Any]]:
    """A@400 of the race against the flat baseline in every stratum of the feasible queries. p adjusted by BH."""
    flat, race = _columns(at, FLAT, RACE)
    if flat is None or race is None:
        return []
    lines = []
    for name, places in strata_of(at.feasible).items():
        line = compare_pair(flat[places], race[places], effect=EFFECT).to_dict()
        lines.append({"stratum": name, **line})
    for line, p in zip(lines, benjamini_hochberg([line["p"] for line in lines]).tolist(), strict=True):
        line["p_bh"] = _round(p)
    return lines


def compare_race_strata(at: ScaleMeasurements) -> dict[str, Any]:
    """The race against its paths over all queries, and in every stratum; which path dominates where."""
    columns = right_columns(at)
    feasible = [query for query in at.judged if query.is_feasible]
    apart = right_columns(at, feasible)
    if columns is None or apart is None:
        return {}
    strata = compare_race_by_stratum(*columns, strata_of(at.judged))
    adjusted = benjamini_hochberg([one.p for one in strata.values()]).tolist() if strata else []
    wins = [at.records[RACE][query.id]["race"]["winner"] for query in feasible if "race" in at.records[RACE][query.id]]
    return {
        "all": _rounded(asdict(compare_race(*columns))),
        "feasible": _rounded(asdict(compare_race(*apart))),
        "strata": {
            name: {**_rounded(asdict(one)), "p_bh": _round(p)}
            for (name, one), p in zip(strata.items(), adjusted, strict=True)
        },
        "chosen": {name: wins.count(name) for name in sorted(set(wins))},
    }


def compare_systems(at: ScaleMeasurements) -> dict[str, Any]:
    """Every system against the strong flat baseline: A@400 over the feasible queries."""
    flat = at.column(FLAT, "A", 400)
    if flat is None:
        return {}
    others = {name: column for name in at.records if (column := at.column(name, "A", 400)) is not None}
    groups = np.array([query.archetype for query in at.feasible])
    pairs = compare_pairs([(flat, column) for column in others.values()], groups=groups, effect=EFFECT)
    return {name: pair.to_dict() for name, pair in zip(others, pairs, strict=True)}


def compare_ablations(at: ScaleMeasurements, names: Sequence[str]) -> dict[str, Any]:
    """Every ablation against the gated arm: A@400 over the feasible queries."""
    race = at.column(RACE, "A", 400)
    found = {name: at.column(name, "A", 400) for name in names}
    if race is None:
        return {}
    return {
        name: compare_pair(race, column, effect=EFFECT).to_dict()
        for name, column in found.items()
        if column is not None
    }


def average_seeds(at: ScaleMeasurements, names: Sequence[str]) -> dict[str, Any] | None:
    """A@400 over clustering seeds: averaged per query first, then compared with the flat baseline."""
    columns = [column for name in names if (column := at.column(name, "A", 400)) is not None]
    flat = at.column(FLAT, "A", 400)
    if len(columns) < 2 or flat is None:
        return None
    mean = np.mean(columns, axis=0)
    groups = np.array([query.archetype for query in at.feasible])
    return {
        "seeds": len(columns),
        "by_seed": [_round(float(column.mean())) for column in columns],
        "against_flat": compare_pair(flat, mean, groups=groups, effect=EFFECT).to_dict(),
    }


def _columns(at: ScaleMeasurements, a: str, b: str) -> tuple[Scores | None, Scores | None]:
    return at.column(a, "A", 400), at.column(b, "A", 400)


def _compare(
    at: ScaleMeasurements,
    name: str,
    pair: tuple[Scores | None, Scores | None],
    queries: Sequence[SuiteQuery] | None = None,
) -> dict[str, Any] | None:
    a, b = pair
    if a is None or b is None:
        return None
    groups = np.array([query.archetype for query in (at.feasible if queries is None else queries)])
    line = compare_pair(a, b, groups=groups, effect=EFFECT).to_dict()
    both = ~(np.isnan(a) | np.isnan(b))
    sd = standard_deviation((b - a)[both])
    designed = _round(power(sd, line["n"], TRUE_EFFECT)) if line["n"] > 1 else None
    return {"name": name, **line, "power_at_true_effect": designed}


def _compare_paths(gate: ScaleMeasurements) -> dict[str, Any] | None:
    """The race against the better path over all queries; p by intersection-union."""
    columns = right_columns(gate)
    if columns is None:
        return None
    race, beam, collapsed = columns
    result = compare_race(race, beam, collapsed)
    better = beam if result.better == "beam" else collapsed
    line = _compare(gate, "race gain over the better path", (better, race), gate.judged)
    return None if line is None else {**line, "p": _round(result.p), "better": result.better}


def _compare_links(gate: ScaleMeasurements) -> dict[str, Any] | None:
    spanning = [query for query in gate.feasible if "entity" in query.tags]
    pair = gate.column(NO_LINKS, "A", 400, spanning), gate.column(RACE, "A", 400, spanning)
    return _compare(gate, "cross-links on entity-spanning queries", pair, spanning)


def _compare_error(gate: ScaleMeasurements) -> dict[str, Any] | None:
    """The routing error against its threshold: the level that is farthest from showing that it is below."""
    single = [query for query in gate.feasible if not query.is_cross_branch]
    lines = check_threshold(gate.routing(RACE, single), 0.02)
    if not lines:
        return None
    worst = max(lines, key=lambda line: line["p"])
    return {"name": "routing error below .02, single-branch", **worst, "n": worst["queries"], "p": _round(worst["p"])}


def compare_walks(at: ScaleMeasurements) -> list[dict[str, Any]]:
    """The error of whole walks between arms that differ in how they walk."""
    pairs = [(RACE, "hcr"), (RACE, "margin-4"), (RACE, "top-2"), (RACE, "router-maxpool"), (RACE, "path-ema")]
    lines = [compare_arms(at, arm, other) for arm, other in pairs]
    return [_rounded(line) for line in lines if line is not None]


def _rounded(values: dict[str, Any]) -> dict[str, Any]:
    return {name: _round(value) if isinstance(value, float) else value for name, value in values.items()}


def _round(value: float) -> float:
    return round(value, DECIMALS) + 0.0
