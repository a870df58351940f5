"""Do two judges agree, beyond what chance would give?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from assay.bench.judge.ledger import Ledger, graded


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two judges on the items both graded. `kappa` is None where chance alone would agree always."""

    judges: tuple[str, str]
    items: int
    same: float
    kappa: float | None
    binary: float | None
    """Kappa of relevant (above 0) or not."""


def cohen(pairs: Sequence[tuple[int, int]]) -> float | None:
    """Cohen's κ = (p_o − p_e) / (1 − p_e): observed agreement, and the agreement of two judges who grade
    independently with the same shares. None for no pairs, or when p_e = 1."""
    if not pairs:
        return None
    n = len(pairs)
    observed = sum(a == b for a, b in pairs) / n
    ones, others = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    expected = sum(ones[grade] * others[grade] for grade in ones) / n**2
    return None if expected == 1.0 else (observed - expected) / (1.0 - expected)


def agreements(ledger: Ledger) -> list[Agreement]:
    """Every two judges who graded the same items, by name."""
    said: dict[str, dict[tuple[str, str], int]] = {}
    for one in graded(ledger):
        assert one.grade is not None
        said.setdefault(one.judge, {})[one.query_id, one.doc_id] = one.grade
    found: list[Agreement] = []
    for a, b in combinations(sorted(said), 2):
        shared = sorted(said[a].keys() & said[b].keys())
        pairs = [(said[a][key], said[b][key]) for key in shared]
        if pairs:
            same = sum(x == y for x, y in pairs) / len(pairs)
            relevant = [(int(x > 0), int(y > 0)) for x, y in pairs]
            found.append(Agreement((a, b), len(pairs), same, cohen(pairs), cohen(relevant)))
    return found
