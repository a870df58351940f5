"""Compares systems: paired tests of runs on the same queries, overall and by stratum.

Every run is compared with the first. p values are adjusted in two families, each over all systems and metrics of the
comparison: Holm over all queries (controls any false alarm), Benjamini-Hochberg over strata (which show where a
difference is, not whether there is one).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.bench.gates.rules import PERCENTILES
from assay.bench.metrics import DEFAULTS, parse
from assay.bench.receipt import Receipt, ReceiptError
from assay.bench.run_columns import RunColumns, check_fit, check_metric, latency_ratio, read_columns
from assay.bench.stats import PairedComparison, benjamini_hochberg, compare_pairs, holm
from assay.bench.types import ALL
from assay.errors import nearest

LEVEL, DRAWS, SEED = 0.95, 10_000, 0
TESTS: Mapping[str, Any] = MappingProxyType(
    {
        "test": "paired sign flips, two-sided",
        "interval": "bootstrap of the mean difference",
        "level": LEVEL,
        "draws": DRAWS,
        "seed": SEED,
        "adjusted": {"all": "holm", "strata": "benjamini-hochberg"},
    }
)
"""How tests are computed; part of every receipt that holds one."""


@dataclass(frozen=True, slots=True)
class ComparisonResult:
    """A system against the baseline in one metric on one scope."""

    system: str
    metric: str
    scope: str
    paired: PairedComparison
    p_adjusted: float

    def to_dict(self) -> dict[str, Any]:
        return {
            "system": self.system,
            "metric": self.metric,
            "scope": self.scope,
            **self.paired.to_dict(),
            "p_adjusted": round_score(self.p_adjusted),
        }


def round_score(value: float) -> float:
    """To ten decimals, as in receipts; never −0."""
    return round(value, 10) + 0.0


def compare(
    receipts: Sequence[Receipt],
    metrics: Sequence[str] | None = None,
    scopes: Sequence[str] | None = None,
    groups: str = "",
) -> Receipt:
    """Runs against the first of them, as a receipt of kind "comparison".

    `metrics` defaults to all that the runs share; `scopes` are all queries and every
    stratum when None. `groups` is a field of the strata whose queries belong together (a conversation, a document):
    intervals are then bootstrapped in two levels, groups first. Latency is divided only where both runs were timed
    together, in the measured half.
    """
    if len(receipts) < 2:
        raise ReceiptError("a comparison takes two runs or more", "name the baseline first, then the others")
    base, *others = runs = [read_columns(receipt) for receipt in receipts]
    for run in runs:
        check_fit(base, run)
        if run.why:
            raise ReceiptError(f"{run.system} was not measured: {run.why}", "cure that, then run it again")
    names = _names(runs)
    chosen = _metrics(runs, metrics)
    where = _scopes(base, scopes)
    wanted = [(metric, scope) for metric in chosen for scope in where]
    found = compare_columns(base, others, wanted, names[1:], base.groups(groups) if groups else None)
    canonical = {
        "dataset": dict(base.dataset),
        "systems": [
            {"name": name, "system": run.system, "digest": run.system_digest, "receipt": run.receipt}
            for name, run in zip(names, runs, strict=True)
        ],
        "baseline": names[0],
        "metrics": chosen,
        "scopes": where,
        "tests": {**TESTS, "groups": groups} if groups else dict(TESTS),
        "results": [test.to_dict() for test in found],
    }
    return Receipt("comparison", canonical, {"latency": _latency(base, others, names[1:])})


def compare_columns(
    base: RunColumns,
    others: Sequence[RunColumns],
    wanted: Iterable[tuple[str, str]],
    names: Sequence[str] = (),
    groups: NDArray[np.str_] | None = None,
) -> list[ComparisonResult]:
    """Every (metric, scope) of every run, in that order; scopes where no query has a value are left out."""
    pairs_wanted = list(dict.fromkeys(wanted))
    for metric in dict.fromkeys(metric for metric, _ in pairs_wanted):
        check_metric(metric, [base, *others])
    rows = [
        (place, metric, scope)
        for place in range(len(others))
        for metric, scope in pairs_wanted
        if len(base.values(metric, scope))
    ]
    found: dict[int, PairedComparison] = {}
    for scope in dict.fromkeys(scope for _, scope in pairs_wanted):
        # Tests on the same queries share their random draws.
        at = [row for row, (_, _, where) in enumerate(rows) if where == scope]
        columns = [(rows[row][1], others[rows[row][0]]) for row in at]
        places = base.scopes()[scope]
        pairs = [(base.scores[metric][places], run.scores[metric][places]) for metric, run in columns]
        grouped = None if groups is None else groups[places]
        found |= zip(at, compare_pairs(pairs, level=LEVEL, draws=DRAWS, seed=SEED, groups=grouped), strict=True)
    adjusted = _adjusted([found[row].p for row in range(len(rows))], [scope == ALL for _, _, scope in rows])
    labels = names or [run.system for run in others]
    return [
        ComparisonResult(labels[place], metric, scope, found[row], adjusted[row])
        for row, (place, metric, scope) in enumerate(rows)
    ]


def _adjusted(ps: Sequence[float], overall: Sequence[bool]) -> list[float]:
    """Each family by its own method, in the order given."""
    adjusted = np.array(ps, np.float64)
    first = np.array(overall, np.bool_)
    adjusted[first] = holm(adjusted[first])
    adjusted[~first] = benjamini_hochberg(adjusted[~first])
    return list(adjusted.tolist())


def _names(runs: Sequence[RunColumns]) -> list[str]:
    """The systems' names; where two share one, with their place."""
    names = [run.system for run in runs]
    return [name if names.count(name) == 1 else f"{name} ({place})" for place, name in enumerate(names, 1)]


def _metrics(runs: Sequence[RunColumns], requested: Sequence[str] | None) -> list[str]:
    if requested is not None:
        return list(dict.fromkeys(str(parse(name)) for name in requested))
    shared = sorted(set.intersection(*(set(run.scores) for run in runs)))
    if not shared:
        raise ReceiptError("the runs share no metric", "run them with the same --metrics")
    known = [name for name in DEFAULTS if name in shared]
    return known + [name for name in shared if name not in known]


def _scopes(base: RunColumns, requested: Sequence[str] | None) -> list[str]:
    known = list(base.scopes())
    for scope in requested or ():
        if scope not in known:
            raise ReceiptError(f"{base.dataset['name']} has no stratum {scope!r}", nearest(scope, known))
    return list(dict.fromkeys(requested)) if requested else known


def _latency(base: RunColumns, others: Sequence[RunColumns], names: Sequence[str]) -> list[dict[str, Any]]:
    """Ratios of the whole search's percentiles, or why there are none."""
    found = []
    for run, name in zip(others, names, strict=True):
        ratios = {percentile: latency_ratio(base, run, "total", percentile) for percentile in PERCENTILES}
        why = next((why for _, why in ratios.values() if why), "")
        ratio_by_percentile = (
            {} if why else {percentile: round(ratio or 0.0, 4) for percentile, (ratio, _) in ratios.items()}
        )
        found.append({"system": name, "ratio": ratio_by_percentile, "why": why})
    return found
