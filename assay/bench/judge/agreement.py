"""Computes the agreement of judges: Cohen's kappa."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from assay.bench.judge.ledger import Ledger, graded_entries


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two judges on the items both graded. `kappa` is None if the expected agreement is 1."""

    judges: tuple[str, str]
    items: int
    same: float
    kappa: float | None
    binary: float | None
    """Kappa of relevant (above 0) or not."""


def cohen_kappa(pairs: Sequence[tuple[int, int]]) -> float | None:
    """Cohen's κ = (p_o − p_e) / (1 − p_e): observed agreement, and the agreement of two judges who grade
    independently with the same shares. None for no pairs, or when p_e = 1."""
    if not pairs:
        return None
    n = len(pairs)
    observed = sum(a == b for a, b in pairs) / n
    ones, others = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    expected = sum(ones[grade] * others[grade] for grade in ones) / n**2
    return None if expected == 1.0 else (observed - expected) / (1.0 - expected)


def compute_agreements(ledger: Ledger) -> list[Agreement]:
    """The agreement of every two judges who graded the same items, by name."""
    grades: dict[str, dict[tuple[str, str], int]] = {}
    for one in graded_entries(ledger):
        assert one.grade is not None
        grades.setdefault(one.judge, {})[one.query_id, one.doc_id] = one.grade
    agreements: list[Agreement] = []
    for a, b in combinations(sorted(grades), 2):
        shared = sorted(grades[a].keys() & grades[b].keys())
        pairs = [(grades[a][key], grades[b][key]) for key in shared]
        if pairs:
            same = sum(x == y for x, y in pairs) / len(pairs)
            relevant = [(int(x > 0), int(y > 0)) for x, y in pairs]
            agreements.append(Agreement((a, b), len(pairs), same, cohen_kappa(pairs), cohen_kappa(relevant)))
    return agreements
