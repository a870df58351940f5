"""Impossible-query detection as a classifier whose mistakes cost differently. "Impossible" is the positive class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from assay.bench.stats import StatisticsError

RIGHT, FALSE_REFUSAL, FALSE_ATTEMPT = 1.0, -1.0, -2.0
"""The utility of a decision: attempting the impossible wastes tokens and misleads, so it costs most."""


@dataclass(frozen=True, slots=True)
class DetectionDecision:
    """What is true of a query and what the detector said; an empty kind means that it can be answered."""

    truth: str
    said: str

    @property
    def is_right(self) -> bool:
        return bool(self.truth) == bool(self.said)


@dataclass(frozen=True, slots=True)
class DetectionResult:
    """precision   of the queries called impossible, the share that is; None when none was called so
    recall      of the impossible queries, the share that was called so; None when there is none
    f1          their harmonic mean
    kind_right  of the impossible queries called impossible, the share whose kind is right as well
    """

    called: int
    impossible: int
    precision: float | None
    recall: float | None
    f1: float | None
    kind_right: float | None


def detect(decisions: Sequence[DetectionDecision]) -> DetectionResult:
    """Score a detector over all queries."""
    return _score(
        [decision for decision in decisions if decision.said], [decision for decision in decisions if decision.truth]
    )


def detect_by_kind(decisions: Sequence[DetectionDecision]) -> dict[str, DetectionResult]:
    """Score every kind apart.

    The precision of a kind is over the queries that were given this kind: is the query impossible at all? Its recall is
    over the queries that are of this kind: was any kind said? Whether the kind itself is right is `kind_right`.
    """
    kinds = sorted({decision.truth for decision in decisions if decision.truth})
    return {
        kind: _score(
            [decision for decision in decisions if decision.said == kind],
            [decision for decision in decisions if decision.truth == kind],
        )
        for kind in kinds
    }


def expected_utility(decisions: Sequence[DetectionDecision]) -> float:
    """The mean utility of the decisions, between -2 and 1."""
    if not decisions:
        raise StatisticsError("no decision, no utility", "score at least one query")
    counts = Counter(
        "right" if decision.is_right else "attempt" if decision.truth else "refusal" for decision in decisions
    )
    total = counts["right"] * RIGHT + counts["refusal"] * FALSE_REFUSAL + counts["attempt"] * FALSE_ATTEMPT
    return total / len(decisions)


def _score(called: Sequence[DetectionDecision], impossible: Sequence[DetectionDecision]) -> DetectionResult:
    precision = sum(bool(decision.truth) for decision in called) / len(called) if called else None
    found = [decision for decision in impossible if decision.said]
    recall = len(found) / len(impossible) if impossible else None
    f1 = None
    if precision is not None and recall is not None:
        f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    kind_right = sum(decision.said == decision.truth for decision in found) / len(found) if found else None
    return DetectionResult(len(called), len(impossible), precision, recall, f1, kind_right)
