"""Groups receipts into boards: one per dataset and split, with tests against a reference system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.bench.compare import ComparisonResult, compare_columns
from assay.bench.metrics import parse
from assay.bench.receipt import Receipt, ReceiptError
from assay.bench.run_columns import RunColumns, check_fit, read_columns
from assay.bench.sanity_checks import check_results
from assay.bench.stats import Interval, bootstrap_ci
from assay.bench.systems import BASELINES, BOUNDS
from assay.bench.types import ALL
from assay.config.findings import Finding
from assay.errors import nearest

REFERENCES = ("hybrid", "bm25", "dense")
"""The default reference systems: the first one present is used."""


@dataclass(frozen=True, eq=False)
class Board:
    """The systems of one dataset and split. `systems` are sorted best first, without floor and ceiling (`bounds`)."""

    dataset: Mapping[str, Any]
    metric: str
    receipts: Mapping[str, Receipt]
    systems: tuple[RunColumns, ...]
    bounds: tuple[RunColumns, ...]
    unmeasured: Mapping[str, str]
    reference: str
    tests: tuple[ComparisonResult, ...] = ()
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    doubts: Mapping[str, Sequence[Finding]] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    """Baselines that were not run."""

    @property
    def texts(self) -> dict[str, str]:
        """The texts of queries, where a receipt holds them (`assay bench run --with-text`)."""
        found: dict[str, str] = {}
        for receipt in self.receipts.values():
            held = receipt.measured.get("texts")
            if isinstance(held, Mapping):
                found |= {str(query): text for query, text in held.items() if isinstance(text, str)}
        return found

    @property
    def best(self) -> RunColumns:
        return self.systems[0]

    def mean(self, run: RunColumns, metric: str | None = None, scope: str = ALL) -> float:
        values = run.values(metric or self.metric, scope)
        return float(values.mean()) if len(values) else float("nan")

    def test(self, system: str, scope: str = ALL) -> ComparisonResult | None:
        """The system against the reference in the board's metric."""
        matches = (t for t in self.tests if (t.system, t.scope, t.metric) == (system, scope, self.metric))
        return next(matches, None)

    def metrics(self) -> list[str]:
        """The metrics of every system, the deciding one first."""
        shared = [m for m in self.best.scores if all(m in run.scores for run in self.systems)]
        return [self.metric, *(m for m in shared if m != self.metric)]

    def budgets(self) -> dict[str, list[int]]:
        """Metrics by token budget that were measured at two budgets or more: name → budgets."""
        found: dict[str, list[int]] = {}
        for metric in map(parse, self.metrics()):
            if metric.unit == "token" and len(self.best.values(str(metric))):
                found.setdefault(metric.measure, []).append(metric.cutoff or 0)
        return {name: sorted(at) for name, at in found.items() if len(at) > 1}


@dataclass(frozen=True, eq=False)
class Report:
    """Boards by (dataset, split); `verdicts` are the receipts of gates and sweeps."""

    boards: tuple[Board, ...]
    verdicts: tuple[Receipt, ...] = ()


def build_report(receipts: Sequence[Receipt], metric: str = "nDCG@10", against: str = "") -> Report:
    """Build a report from receipts; runs of one dataset and split must be comparable."""
    runs: dict[tuple[str, str], dict[str, Receipt]] = {}
    for receipt in receipts:
        if receipt.kind == "run":
            canonical = receipt.canonical
            place = runs.setdefault((canonical["dataset"]["name"], canonical["dataset"]["split"]), {})
            name = canonical["system"]["name"]
            if name in place and place[name].digest != receipt.digest:
                raise ReceiptError(
                    f"two receipts of {name} on {canonical['dataset']['name']}/{canonical['dataset']['split']} differ",
                    "keep the newer one, or rename one of the systems",
                )
            place[name] = receipt
    if not runs:
        raise ReceiptError("there is no receipt of a run among these", "make one: assay bench run tiny --out receipts")
    chosen = str(parse(metric))
    boards = tuple(_build_board(found, chosen, against) for _, found in sorted(runs.items()))
    return Report(boards, tuple(r for r in receipts if r.kind in ("gate", "grid")))


def _build_board(receipts: Mapping[str, Receipt], metric: str, against: str) -> Board:
    found = {name: read_columns(receipt) for name, receipt in sorted(receipts.items())}
    measured = {name: run for name, run in found.items() if not run.why}
    first = next(iter(measured.values()), None)
    dataset = dict(next(iter(receipts.values())).canonical["dataset"])
    unmeasured = {name: run.why for name, run in found.items() if run.why}
    systems = [run for name, run in measured.items() if name not in BOUNDS]
    if first is None or not systems:
        raise ReceiptError(f"no system was measured on {dataset['name']}", "; ".join(unmeasured.values()) or "run one")
    for run in measured.values():
        check_fit(first, run)
        if metric not in run.scores:
            raise ReceiptError(f"{run.system} was not scored by {metric}", nearest(metric, run.scores))
    systems.sort(key=lambda run: (-float(run.values(metric).mean()), run.system))
    reference = _choose_reference([run.system for run in systems], against)
    base = measured[reference]
    others = [run for run in systems if run.system != reference]
    wanted = [(metric, scope) for scope in base.scopes()]
    return Board(
        dataset=dataset,
        metric=metric,
        receipts=receipts,
        systems=tuple(systems),
        bounds=tuple(measured[name] for name in BOUNDS if name in measured),
        unmeasured=unmeasured,
        reference=reference,
        tests=tuple(compare_columns(base, others, wanted)) if others else (),
        intervals={run.system: bootstrap_ci(run.values(metric)) for run in systems},
        doubts={name: doubts for name, doubts in check_results(receipts, metric).items() if doubts},
        missing=tuple(name for name in BASELINES if name not in receipts),
    )


def _choose_reference(names: Sequence[str], against: str) -> str:
    if against:
        if against not in names:
            raise ReceiptError(f"no receipt here is of a system called {against!r}", nearest(against, names))
        return against
    return next((name for name in REFERENCES if name in names), names[-1])
