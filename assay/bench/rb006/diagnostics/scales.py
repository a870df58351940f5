"""What changes with the size of the corpus: queries in scope, A@400, and where the race overtakes the flat baseline."""

from __future__ import annotations

from typing import Any

from assay.bench.rb006.diagnostics.measurements import FLAT, RACE, Measurements, ScaleMeasurements
from assay.bench.stats import compare_pair


def summarise_scales(measured: Measurements) -> list[dict[str, Any]]:
    """One line for each scale: queries in scope and not yet present, and the race against the flat baseline."""
    return [_summarise(at) for _, at in sorted(measured.scales.items())]


def _summarise(at: ScaleMeasurements) -> dict[str, Any]:
    line: dict[str, Any] = {
        "scale": at.scale,
        "in_scope": len(at.judged),
        "absent": len(at.subject.queries) - len(at.judged),
        "feasible": len(at.feasible),
    }
    flat, race = at.column(FLAT, "A", 400), at.column(RACE, "A", 400)
    if flat is not None and race is not None:
        pair = compare_pair(flat, race)
        line |= {
            "flat": round(pair.mean_a, 6),
            "race": round(pair.mean_b, 6),
            "difference": round(pair.difference, 6),
            "interval": [round(pair.ci_low, 6), round(pair.ci_high, 6)],
        }
    return line


def find_crossover(measured: Measurements) -> dict[str, Any]:
    """The smallest scale from which on A@400 of the race is above that of the flat baseline.

    On the queries of the smallest scale, which all scales share, so that only the corpus grows.
    """
    shared = {query.id for query in measured.first.feasible}
    gains: dict[int, float] = {}
    for scale, at in sorted(measured.scales.items()):
        queries = [query for query in at.feasible if query.id in shared]
        race, flat = at.mean(RACE, "A", 400, queries), at.mean(FLAT, "A", 400, queries)
        if race is not None and flat is not None:
            gains[scale] = race - flat
    overtakes = None
    for scale in sorted(gains, reverse=True):
        if gains[scale] <= 0.0:
            break
        overtakes = scale
    return {
        "queries": len(shared),
        "gains": {str(scale): round(gain, 6) for scale, gain in gains.items()},
        "overtakes_at": overtakes,
    }
