"""Why feasible queries were not answered at 400 tokens: where the evidence was lost, and what to look at first."""

from __future__ import annotations

from collections import Counter
from typing import Any

from assay.bench.rb006.diagnostics.measurements import (
    BEAM,
    COLLAPSED,
    FLAT,
    RACE,
    STRATA,
    ScaleMeasurements,
)

REASONS = {
    "choice": "the other path had the answer",
    "routing": "the walk left the evidence behind",
    "hop": "no bridge led to the evidence of a later hop",
    "ranking": "the evidence was reached, but is not among the 50 chunks",
    "selection": "the evidence is among the 50 chunks, but not in the 400 tokens",
}
"""Why the race missed a query, in the order in which the reasons are tried."""


def explain_losses(at: ScaleMeasurements) -> dict[str, Any]:
    """Of the feasible queries that the race did not answer: how many for which reason, and in which strata."""
    if not at.has(RACE, at.feasible):
        return {}
    reasons: Counter[str] = Counter()
    strata: dict[str, Counter[str]] = {}
    lost_to_flat = 0
    for query in at.feasible:
        record = at.records[RACE][query.id]
        if record["A"]["400"] == 1.0:
            continue
        reason = _find_reason(at, query.id)
        reasons[reason] += 1
        for tag in query.tags:
            strata.setdefault(tag, Counter())[reason] += 1
        lost_to_flat += _answers(at, FLAT, query.id)
    return {
        "missed": sum(reasons.values()),
        "of": len(at.feasible),
        "flat_answers": lost_to_flat,
        "reasons": {name: reasons[name] for name in REASONS if reasons[name]},
        "strata": {
            tag: {"missed": sum(strata[tag].values()), "reasons": dict(strata[tag].most_common())}
            for tag in STRATA
            if tag in strata
        },
    }


def _find_reason(at: ScaleMeasurements, query: str) -> str:
    record = at.records[RACE][query]
    if _answers(at, BEAM, query) or _answers(at, COLLAPSED, query):
        return "choice"
    if record["A"]["pool"] == 1.0:
        return "selection"
    routing = record.get("routing")
    if routing is not None and record.get("race", {}).get("winner", "beam") == "beam":
        if any(level["evidence"] > 0.0 or level["lost"] for level in routing["levels"]):
            return "routing"
        if any(hop["evidence"] > 0.0 for hop in routing["hops"]):
            return "hop"
    return "ranking"


def _answers(at: ScaleMeasurements, system: str, query: str) -> bool:
    record = at.records.get(system, {}).get(query)
    return record is not None and record["A"]["400"] == 1.0
