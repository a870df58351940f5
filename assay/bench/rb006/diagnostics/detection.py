"""Impossible queries: what the detector says at every scale, by kind, with the utility of its decisions."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from assay.bench.rb006.diagnostics.measurements import ScaleMeasurements
from assay.bench.rb006.measures.detection import DetectionResult, detect, detect_by_kind, expected_utility
from assay.bench.stats import clopper_pearson


def summarise_detection(at: ScaleMeasurements) -> dict[str, Any]:
    """Precision, recall and F1 of "impossible", of every kind apart, and the expected utility.

    `absent` are queries whose evidence is not in the corpus yet; they are not judged, and it is shown how many of them
    the detector refuses.
    """
    decisions = at.decisions()
    if not decisions:
        return {}
    absent = [query.id for query in at.subject.queries if not query.in_scope and query.id in at.detected]
    refused = sum(bool(at.detected[name]["said"]) for name in absent)
    return {
        "queries": len(decisions),
        "all": _describe(detect(decisions)),
        "kinds": {kind: _describe(found) for kind, found in detect_by_kind(decisions).items()},
        "utility": round(expected_utility(decisions), 6),
        "absent": {"queries": len(absent), "refused": refused},
    }


def _describe(found: DetectionResult) -> dict[str, Any]:
    line = {name: round(value, 6) if isinstance(value, float) else value for name, value in asdict(found).items()}
    for name, total in (("precision", found.called), ("recall", found.impossible)):
        rate = getattr(found, name)
        if rate is not None and total:
            interval = clopper_pearson(round(rate * total), total)
            line[f"{name}_interval"] = [round(end, 6) for end in interval]
    return line
