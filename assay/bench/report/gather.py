"""Receipts in their places: one board for each dataset and split, systems side by side, tests against one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.bench.compare import Tested, comparisons
from assay.bench.metrics import parse
from assay.bench.receipt import Receipt, ReceiptError
from assay.bench.run_columns import RunColumns, check_fit, scored
from assay.bench.stats import Interval, bootstrap_ci
from assay.bench.suspicion import of_results
from assay.bench.systems import BASELINES, BOUNDS
from assay.bench.types import ALL
from assay.config.preflight import Finding
from assay.errors import nearest

REFERENCES = ("hybrid", "bm25", "dense")
"""What the others are held against when nobody says: the first of these that is there."""


@dataclass(frozen=True, eq=False)
class Board:
    """The systems of one dataset and split. `systems` stand best first, floor and ceiling apart."""

    dataset: Mapping[str, Any]
    metric: str
    receipts: Mapping[str, Receipt]
    systems: tuple[RunColumns, ...]
    bounds: tuple[RunColumns, ...]
    unmeasured: Mapping[str, str]
    reference: str
    tests: tuple[Tested, ...] = ()
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    doubts: Mapping[str, Sequence[Finding]] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    """Baselines without which a number says little."""

    @property
    def best(self) -> RunColumns:
        return self.systems[0]

    def mean(self, run: RunColumns, metric: str | None = None, scope: str = ALL) -> float:
        values = run.values(metric or self.metric, scope)
        return float(values.mean()) if len(values) else float("nan")

    def test(self, system: str, scope: str = ALL) -> Tested | None:
        """The system against the reference in the board's metric."""
        named = (t for t in self.tests if (t.system, t.scope, t.metric) == (system, scope, self.metric))
        return next(named, None)

    def metrics(self) -> list[str]:
        """What every system was scored by, the deciding one first."""
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
    """Boards by (dataset, split); `verdicts` are gates and sweeps, whose receipts speak for themselves."""

    boards: tuple[Board, ...]
    verdicts: tuple[Receipt, ...] = ()


def gather(receipts: Sequence[Receipt], metric: str = "nDCG@10", against: str = "") -> Report:
    """A report of receipts; runs of one dataset and split must fit each other."""
    runs: dict[tuple[str, str], dict[str, Receipt]] = {}
    for receipt in receipts:
        if receipt.kind == "run":
            said = receipt.canonical
            place = runs.setdefault((said["dataset"]["name"], said["dataset"]["split"]), {})
            name = said["system"]["name"]
            if name in place and place[name].digest != receipt.digest:
                raise ReceiptError(
                    f"two receipts of {name} on {said['dataset']['name']}/{said['dataset']['split']} differ",
                    "keep the newer one, or rename one of the systems",
                )
            place[name] = receipt
    if not runs:
        raise ReceiptError("there is no receipt of a run among these", "make one: assay bench run tiny --out receipts")
    chosen = str(parse(metric))
    boards = tuple(_board(found, chosen, against) for _, found in sorted(runs.items()))
    return Report(boards, tuple(r for r in receipts if r.kind in ("gate", "grid")))


def _board(receipts: Mapping[str, Receipt], metric: str, against: str) -> Board:
    found = {name: scored(receipt) for name, receipt in sorted(receipts.items())}
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
    reference = _reference([run.system for run in systems], against)
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
        tests=tuple(comparisons(base, others, wanted)) if others else (),
        intervals={run.system: bootstrap_ci(run.values(metric)) for run in systems},
        doubts={name: doubts for name, doubts in of_results(receipts, metric).items() if doubts},
        missing=tuple(name for name in BASELINES if name not in receipts),
    )


def _reference(names: Sequence[str], against: str) -> str:
    if against:
        if against not in names:
            raise ReceiptError(f"no receipt here is of a system called {against!r}", nearest(against, names))
        return against
    return next((name for name in REFERENCES if name in names), names[-1])
