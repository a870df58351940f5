"""The values that thresholds judge. A value that was not measured is None, and its line is "not measured"."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.bench.rb006.diagnostics.measurements import (
    BEAM,
    COLLAPSED,
    FLAT,
    NO_LINKS,
    RACE,
    Measurements,
    ScaleMeasurements,
    strata_of,
)
from assay.bench.rb006.diagnostics.routing import worst_error
from assay.bench.rb006.measures.curves import GRID, budget_at_parity
from assay.bench.rb006.measures.detection import detect, detect_by_kind
from assay.bench.rb006.measures.race import compare_race, compare_race_by_stratum, strata_won
from assay.bench.rb006.measures.survival import correlate_survival
from assay.bench.rb006.subject import SuiteQuery
from assay.bench.rb006.verdict.hypotheses import Declared
from assay.bench.types import Scores

NO_PARITY = GRID[-1] + 50
"""Stands for "parity is not reached on the grid"."""
Values = dict[str, float | None]


def compute_values(measured: Measurements, declared: Declared) -> Values:
    """Every value of the thresholds file."""
    gate = measured.at_gate
    values: Values = {"epsilon_level_1_dev_slice": slice_error(measured)}
    values |= _token_values(gate, declared)
    values |= _race_values(gate, declared)
    for scale, name in ((1, "50k"), (2, "200k")):
        values[f"race_minus_flat_400_at_{name}"] = _not_below(measured, scale)
    values |= _routing_values(gate)
    values |= _detection_values(gate)
    return values


def slice_error(measured: Measurements) -> float | None:
    """ε_any of the first level on the dev slice."""
    first = measured.first
    queries = [first.subject.by_id[name] for name in measured.slice]
    return worst_error(first.routing(RACE, queries), levels=(1,))


def _token_values(gate: ScaleMeasurements, declared: Declared) -> Values:
    race, flat, pool = gate.curve(RACE), gate.curve(FLAT), gate.mean(FLAT, "A", "pool")
    if race is None or flat is None or pool is None:
        return dict.fromkeys(
            ("race_minus_flat_400", "race_400_minus_flat_pool", "race_800_minus_flat_pool", "budget_at_parity")
        )
    parity = budget_at_parity(race, pool, declared.parity_tolerance)
    return {
        "race_minus_flat_400": race[400] - flat[400],
        "race_400_minus_flat_pool": race[400] - pool,
        "race_800_minus_flat_pool": race[800] - pool,
        "budget_at_parity": NO_PARITY if parity is None else parity,
    }


def right_columns(
    gate: ScaleMeasurements, queries: Sequence[SuiteQuery] | None = None
) -> tuple[Scores, Scores, Scores] | None:
    """Right at 400 tokens over all queries in scope: race, beam, collapsed."""
    race, beam, collapsed = (gate.right(name, 400, queries) for name in (RACE, BEAM, COLLAPSED))
    return None if race is None or beam is None or collapsed is None else (race, beam, collapsed)


def _race_values(gate: ScaleMeasurements, declared: Declared) -> Values:
    columns = right_columns(gate)
    if columns is None:
        return {"race_gain": None, "race_strata_won": None}
    strata = compare_race_by_stratum(*columns, strata_of(gate.judged))
    return {
        "race_gain": compare_race(*columns).gain,
        "race_strata_won": len(strata_won(strata, declared.strata_uplift)),
    }


def _not_below(measured: Measurements, place: int) -> float | None:
    """Race less flat over all queries, at the second or third scale; None where the run does not go there."""
    scales = sorted(measured.scales)
    if place >= len(scales):
        return None
    at = measured.scales[scales[place]]
    race, flat = at.right(RACE), at.right(FLAT)
    return None if race is None or flat is None else float(race.mean() - flat.mean())


def _routing_values(gate: ScaleMeasurements) -> Values:
    single = [query for query in gate.feasible if not query.is_cross_branch]
    cross = [query for query in gate.feasible if query.is_cross_branch]
    spanning = [query for query in gate.feasible if "entity" in query.tags]
    linked, unlinked = (gate.mean(name, "A", 400, spanning) for name in (RACE, NO_LINKS))
    answers = gate.column(RACE, "A", 400)
    events = gate.routing(RACE)
    rho = None
    if answers is not None and len(events) == len(answers):
        survival = np.array([one["survival"] for one in events])
        rho = correlate_survival(survival, answers, draws=1).rho
    return {
        "epsilon_single_branch_max": worst_error(gate.routing(RACE, single)),
        "epsilon_cross_branch_max": worst_error(gate.routing(RACE, cross)),
        "survival_rho": rho,
        "cross_link_drop": None if linked is None or unlinked is None else linked - unlinked,
    }


def _detection_values(gate: ScaleMeasurements) -> Values:
    decisions = gate.decisions()
    if not decisions:
        names = ("impossible", "listing", "out_of_scope")
        return {f"{name}_{part}": None for name in names for part in ("precision", "recall")}
    whole, kinds = detect(decisions), detect_by_kind(decisions)
    values: Values = {"impossible_precision": whole.precision, "impossible_recall": whole.recall}
    for kind in ("listing", "out_of_scope"):
        found = kinds.get(kind)
        values[f"{kind}_precision"] = found.precision if found else None
        values[f"{kind}_recall"] = found.recall if found else None
    return values
