"""The receipt of a run: what decides it, what was measured and what it says; the canonical half is digested.

The report is a function of the receipt. Times, the machine and the note about what changed are in the measured half.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from assay.bench.host import describe_host
from assay.bench.rb006.diagnostics.comparisons import (
    average_seeds,
    compare_ablations,
    compare_primaries,
    compare_race_strata,
    compare_strata,
    compare_systems,
    compare_walks,
)
from assay.bench.rb006.diagnostics.detection import summarise_detection
from assay.bench.rb006.diagnostics.links import summarise_links
from assay.bench.rb006.diagnostics.losses import explain_losses
from assay.bench.rb006.diagnostics.measurements import RACE, ScaleMeasurements
from assay.bench.rb006.diagnostics.routing import check_threshold, correlate, find_bad_nodes, summarise_routing
from assay.bench.rb006.diagnostics.scales import find_crossover, summarise_scales
from assay.bench.rb006.measure.suite_bench import MEASURES, POOL_KEY
from assay.bench.rb006.measures.curves import BUDGETS, GRID
from assay.bench.rb006.runner.run import BenchmarkRun
from assay.bench.rb006.systems import ABLATIONS, list_not_run
from assay.bench.receipt import Receipt
from assay.bench.runner import collect_versions

_BY_BUDGET = (*map(str, BUDGETS), POOL_KEY)
_DECIMALS = 6


def make_receipt(run: BenchmarkRun, note: str = "") -> Receipt:
    """The receipt of a run as far as it went."""
    thresholds = run.settings.thresholds
    measured = run.measured
    canonical = {
        "settings": run.settings.describe(),
        "suite": run.worlds.suite,
        "judged_at": measured.gated,
        "declared": {
            "race": thresholds.declared.race,
            "scale": thresholds.declared.scale,
            "slice": list(measured.slice),
        },
        "systems": [{**system.describe(), "about": system.about} for system in run.systems],
        "not_run": list_not_run(run.systems),
        "stages": [outcome.to_json() for outcome in run.stages],
        "values": dict(run.values),
        "verdicts": [verdict.to_json() for verdict in thresholds.judge(run.values)],
        "primaries": compare_primaries(measured),
        "by_scale": summarise_scales(measured),
        "crossover": find_crossover(measured),
        "public": list(run.public),
        "scales": {str(scale): _describe_scale(run, at) for scale, at in sorted(measured.scales.items())},
    }
    return Receipt("rb006", _clean(canonical), _measure(run, note))


def _describe_scale(run: BenchmarkRun, at: ScaleMeasurements) -> dict[str, Any]:
    walks = at.routing(RACE)
    seeds = [name for name in at.records if name.startswith("race-seed-")]
    return {
        "world": {**at.subject.about, "dataset": at.subject.dataset.digest},
        "index": dict(run.indexes[at.scale]),
        "tree": dict(at.tree),
        "queries": [query.id for query in at.feasible],
        "systems": {name: _describe_system(at, name) for name in _in_order(run, at) if at.has(name, at.feasible)},
        "against_flat": compare_systems(at),
        "strata": compare_strata(at),
        "race": compare_race_strata(at),
        "routing": summarise_routing(at),
        "thresholds": check_threshold(walks, 0.02),
        "nodes": find_bad_nodes(walks)[:64],
        "walks": compare_walks(at),
        "survival": correlate(at),
        "links": summarise_links(at),
        "losses": explain_losses(at),
        "detection": summarise_detection(at),
        "detected": {name: record["said"] for name, record in sorted(at.detected.items()) if record["said"]},
        "ablations": compare_ablations(at, [name for name in _in_order(run, at) if name in ABLATIONS]),
        "seeds": average_seeds(at, seeds),
    }


def _in_order(run: BenchmarkRun, at: ScaleMeasurements) -> list[str]:
    """The systems that were asked here, in the order of the catalogue."""
    return [system.name for system in run.systems if system.name in at.records]


def _describe_system(at: ScaleMeasurements, name: str) -> dict[str, Any]:
    """Means by budget over the feasible queries, A of every query as a string of digits, and a digest of the rest."""
    rows = [at.records[name][query.id] for query in at.feasible]
    areas = at.areas(name)
    found: dict[str, Any] = {
        measure: {budget: at.mean(name, measure, budget) for budget in _BY_BUDGET} for measure in MEASURES
    }
    found["auc"] = None if areas is None else float(areas.mean())
    found["answers"] = {budget: "".join(str(int(row["A"][budget])) for row in rows) for budget in _BY_BUDGET}
    found["tokens"] = {budget: float(np.mean([row["tokens"][budget] for row in rows])) for budget in _BY_BUDGET}
    found["impossible_recall"] = _impossible_recall(at, name)
    found["rankings"] = hashlib.sha256("".join(row["ranking"] for row in rows).encode()).hexdigest()[:16]
    if all("grid" in row for row in rows):
        found["grid"] = {
            str(budget): float(np.mean([row["grid"][place] for row in rows])) for place, budget in enumerate(GRID)
        }
    failed = sum("failed" in row for row in rows)
    degraded = sum("degraded" in row for row in rows)
    return found | ({"failed": failed} if failed else {}) | ({"degraded": degraded} if degraded else {})


def _impossible_recall(at: ScaleMeasurements, name: str) -> float | None:
    """Evidence recall at 400 tokens of impossible queries that have evidence: how much of a list fits."""
    return at.mean(name, "ER", 400, [query for query in at.subject.answered if not query.is_feasible])


def _measure(run: BenchmarkRun, note: str) -> dict[str, Any]:
    times = {
        str(scale): {
            name: round(float(np.median([record["ms"] for record in records.values()])), 1)
            for name, records in at.records.items()
            if records
        }
        for scale, at in run.measured.scales.items()
    }
    return {
        "clock": datetime.now(UTC).isoformat(timespec="seconds"),
        "host": describe_host(),
        "versions": dict(collect_versions()),
        "note": note,
        "median_ms": times,
        "minutes": _count_minutes(run),
        "messages": _messages(run),
    }


def _count_minutes(run: BenchmarkRun) -> dict[str, float]:
    """Minutes that the queries of all systems and of the detector took, by scale; interruptions do not count."""
    return {
        str(scale): round(
            sum(record["ms"] for records in (*at.records.values(), at.detected) for record in records.values())
            / 60_000.0,
            3,
        )
        for scale, at in run.measured.scales.items()
    }


def _messages(run: BenchmarkRun) -> dict[str, list[str]]:
    """What failed or ran with less than it needs, by system."""
    found: dict[str, dict[str, None]] = {}
    for at in run.measured.scales.values():
        for name, records in at.records.items():
            for record in records.values():
                reasons: Sequence[str] = [*record.get("degraded", ()), *filter(None, [record.get("failed")])]
                found.setdefault(name, {}).update(dict.fromkeys(reasons))
    return {name: list(reasons)[:3] for name, reasons in found.items() if reasons}


def _clean(value: Any) -> Any:
    """Plain JSON: rounded floats, no NaN, no numpy."""
    if isinstance(value, Mapping):
        return {str(key): _clean(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(one) for one in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return round(float(value), _DECIMALS) + 0.0 if np.isfinite(value) else None
    return value
